import { InvalidArgumentError } from "commander";

import type { ClassFields } from "./manage.ts";
import { CommandError } from "./request.ts";

/** Options of a command as given. */
type RawOptions = Readonly<Record<string, string | undefined>>;

/** Reads the class filter fields that are given. @throws CommandError */
export function readFields(given: RawOptions): ClassFields {
  const fields: Record<string, string | number> = {};
  for (const name of ["display", "color", "tag", "text", "link", "source"]) {
    if (given[name] !== undefined) fields[name] = given[name];
  }
  if (given["weight"] !== undefined) fields["weight"] = readWhole("--weight", given["weight"], -1_000_000, 1_000_000);
  return fields;
}

/** Reads the log settings that are given. @throws CommandError */
export function readLogChange(given: RawOptions): { display?: string; retentionDays?: number | null } {
  const { display, retentionDays } = given;
  return {
    ...(display !== undefined && { display }),
    ...(retentionDays !== undefined && {
      retentionDays: retentionDays === "never" ? null : readWhole("--retention-days", retentionDays, 1, 36_500),
    }),
  };
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, all: string[]): string[] {
  return [...all, value];
}

/** Reads `<log>` or `<log>:<role>`. */
export function readShare(text: string): { log: string; role: string } {
  const [log = "", role = "user"] = text.split(":");
  return { log, role };
}

function readWhole(option: string, text: string, least: number, most: number): number {
  const number = parseWhole(text, least, most);
  if (number !== null) return number;
  throw new CommandError(`${option} is ${JSON.stringify(text)}; a whole number from ${least} to ${most} is expected`);
}

/** Returns a parser for commander that accepts integers in these bounds. */
export function wholeFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = parseWhole(text, least, most);
    if (number !== null) return number;
    throw new InvalidArgumentError(`A whole number from ${least} to ${most} is expected.`);
  };
}

function parseWhole(text: string, least: number, most: number): number | null {
  const number = /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}
