import { chmod, mkdir, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type { FirstStart } from "../bootstrap.ts";
import { StartError } from "../errors.ts";
import { describeFirst } from "./describe.ts";
import type { GivenSecrets } from "./describe.ts";

/** Name of the file with generated secrets, in the data folder. */
const FILE = "first-start.txt";

/**
 * Returns the description of a first start. On a terminal it contains the generated secrets. Other
 * output may end up in a log, so the secrets are appended to a file that only this user can read,
 * and the description names it.
 * @throws StartError if the file cannot be written
 */
export async function showSecrets(
  first: FirstStart,
  { given, isResumed, isTerminal, folder }: ShowOptions,
): Promise<string> {
  const isGenerated = (first.admin !== null && !given.password) || (first.log !== null && !given.apiKey);
  if (isTerminal || !isGenerated) return describeFirst(first, given, { isResumed });
  const file = resolve(folder, FILE);
  await append(file, `${describeFirst(first, given, { isResumed })}\n`);
  return describeFirst(first, given, { isResumed, file });
}

type ShowOptions = {
  readonly given: GivenSecrets;
  readonly isResumed: boolean;
  readonly isTerminal: boolean;
  readonly folder: string;
};

/** Appends to a file of mode 600, durably: an interrupted start may leave secrets that are valid. */
async function append(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await using handle = await open(file, "a", 0o600);
    await chmod(file, 0o600);
    await handle.appendFile(text);
    await handle.sync();
  } catch (error) {
    throw new StartError(
      `The first password and API key can't be written to ${file}: ${(error as Error).message}; ` +
        "set LOGGIA_ADMIN and LOGGIA_LOG, or LOGGIA_DATA to a folder that can be written, or start on a terminal",
      { cause: error },
    );
  }
}
