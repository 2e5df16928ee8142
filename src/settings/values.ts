import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

import { StartError } from "../errors.ts";
import type { SettingName } from "./table.ts";

export type Address = { readonly host: string; readonly port: number };

export function readAddress(name: string, value: string): Address {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw wrong(name, value, "host:port such as 127.0.0.1:8080, with a port from 0 to 65535");
  return { host: match[1] ?? match[2] ?? "", port };
}

export function readWhole(name: SettingName, text: string, least: number, most: number, whole = text): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) throw wrong(name, whole, `whole numbers from ${least} to ${most}`);
  return number;
}

export const MB = 2 ** 20;
const UNITS_BYTES = { MB, GB: 1024 * MB } as const;

/** Parses a size such as 512MB or 2GB. @returns bytes; null if it is invalid */
export function parseSize(text: string): number | null {
  const [, count, unit] = /^(\d{1,6})(MB|GB)$/i.exec(text) ?? [];
  if (count === undefined || unit === undefined) return null;
  return Number(count) * UNITS_BYTES[unit.toUpperCase() as keyof typeof UNITS_BYTES];
}

export function readMatch(name: string, value: string, pattern: RegExp, allowed: string): string {
  if (!pattern.test(value)) throw wrong(name, value, allowed);
  return value;
}

export function readOneOf<const T extends string>(name: SettingName, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw wrong(name, value, `one of ${allowed.join(", ")}`);
  return found;
}

export function wrong(name: string, value: string, allowed: string): StartError {
  return new StartError(`${name} is ${JSON.stringify(value)}; allowed: ${allowed}`);
}

export function readFile(name: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`${name} is ${JSON.stringify(file)}, which can't be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * Reads certificates in PEM. Node would ignore a file in another format without an error, and then
 * trust no server.
 */
export function readAuthorities(name: SettingName, file: string): string | null {
  if (file === "") return null;
  const pem = readFile(name, file);
  try {
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    const allowed = "a file of certificates in PEM, which this one is not";
    throw new StartError(wrong(name, file, allowed).message, { cause: error });
  }
}
