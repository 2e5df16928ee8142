import { Option } from "commander";

import { readLines } from "./ship/streams.ts";
import { CommandError } from "./request.ts";

/** Words of a command are visible to all users of the machine, and stay in the shell's history. */
export function passwordFromStdin(): Option {
  return new Option("--password-stdin", "read the password from the first line of standard input");
}

/** @throws CommandError where there is no line */
export async function readPassword(stdin: NodeJS.ReadStream): Promise<string> {
  for await (const line of readLines(stdin)) {
    stdin.destroy();
    return line;
  }
  throw new CommandError("Standard input holds no password");
}
