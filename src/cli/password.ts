import { Option } from "commander";

import { readLines } from "./ship/streams.ts";
import { CommandError } from "./request.ts";

/**
 * Option to read a password from standard input: arguments are visible to other users, and stay in
 * the shell's history.
 */
export function passwordFromStdin(): Option {
  return new Option("--password-stdin", "read the password from the first line of standard input");
}

/** Reads the first line. @throws CommandError if there is none */
export async function readPassword(stdin: NodeJS.ReadStream): Promise<string> {
  for await (const line of readLines(stdin)) {
    stdin.destroy();
    return line;
  }
  throw new CommandError("Standard input contains no password");
}
