import { readFiles } from "../../src/cli/ship/files.ts";
import { type Framing, PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { ShipState } from "../../src/cli/ship/state.ts";

/** Yields the lines of files as `loggia ship` reads them, one at a time. */
export async function* fileLines(
  words: readonly string[],
  isFollowed: boolean,
  signal: AbortSignal,
  framing: Framing = PLAIN_LINES,
): AsyncGenerator<string> {
  using state = ShipState.open(null, "a test");
  const unreadable = (_: string, error: Error): void => {
    throw error;
  };
  const options = { isFollowed, linksTo: [], framing, state, signal, unreadable, resumed: () => {} };
  for await (const { records } of readFiles(words, options)) yield* records.map(({ text }) => text);
}
