import { readFileSync } from "node:fs";

/** A line of JSON as a logger or server prints it. */
export type LoggerLine = { readonly logger: string; readonly line: string };

const FILE = new URL("logger-lines.txt", import.meta.url);

/** Returns the lines of the file beside this one, where each follows the name of its logger. */
export function readLoggerLines(): readonly LoggerLine[] {
  return readFileSync(FILE, "utf8")
    .split(/^# /m)
    .slice(1)
    .map((part) => {
      const [logger = "", line = ""] = part.split("\n");
      return { logger, line };
    });
}
