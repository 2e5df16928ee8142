import { scanLines } from "../events/line-scanner.ts";
import { splitLines } from "../events/lines.ts";
import type { OpenLines } from "../events/lines.ts";
import type { Settings } from "../settings.ts";

/** Returns the reader of lines of JSON events. */
export function lineReaderBy({ plain }: Settings): OpenLines {
  return plain.has("line-scanner") ? splitLines : scanLines;
}
