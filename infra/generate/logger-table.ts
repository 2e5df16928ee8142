import { findFields } from "../../src/ingest/kit/document.ts";
import { flattenInto } from "../../src/ingest/kit/flatten.ts";
import type { MutableAttributes } from "../../src/ingest/kit/flatten.ts";
import { USED_MEMBERS } from "../../src/ingest/kit/times.ts";
import { readLoggerLines } from "./logger-lines.ts";
import type { LoggerLine } from "./logger-lines.ts";

/** Returns the table of which members of loggers' lines become fields of an event, in Markdown. */
export function loggerTable(): string {
  const head = ["| logger | text | time | severity | source |", "|---|---|---|---|---|"];
  return [...head, ...readLoggerLines().map(row)].join("\n");
}

function row({ logger, line }: LoggerLine): string {
  const attributes: MutableAttributes = new Map();
  flattenInto(attributes, JSON.parse(line) as object);
  const { text, time, severity, source, host, logger: name } = findFields(attributes);
  // A time may be an object.
  const times = [time, ...USED_MEMBERS.map((member) => `${time}.${member}`)].filter(
    (one) => one !== undefined && attributes.has(one),
  );
  const cells = [[text], times, [severity], [source ?? host ?? name]];
  return `| ${logger} | ${cells.map(cellOf).join(" | ")} |`;
}

function cellOf(names: readonly (string | undefined)[]): string {
  return names.map((name) => (name === undefined ? "" : `\`${name}\``)).join(", ");
}
