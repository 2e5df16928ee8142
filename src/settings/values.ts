import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { BlockList } from "node:net";

import { StartError } from "../errors.ts";

export type Address = { readonly host: string; readonly port: number };

/** The reader of a text that may be anything. */
export function readText(_name: string, value: string): string {
  return value;
}

export function readAddress(name: string, value: string): Address {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw invalidSetting(name, value, "host:port such as 127.0.0.1:8080, with a port from 0 to 65535");
  return { host: match[1] ?? match[2] ?? "", port };
}

export function readWhole(name: string, text: string, least: number, most: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= least && number <= most)) throw invalidSetting(name, text, `whole numbers from ${least} to ${most}`);
  return number;
}

/** Returns the reader of a whole number. */
export function wholeNumber(least: number, most: number) {
  return (name: string, value: string): number => readWhole(name, value, least, most);
}

/** Returns the reader of a whole number that may be left out. */
export function optionalNumber(least: number, most: number) {
  return (name: string, value: string): number | undefined =>
    value === "" ? undefined : readWhole(name, value, least, most);
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
  if (!pattern.test(value)) throw invalidSetting(name, value, allowed);
  return value;
}

export function readOneOf<const T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const match = allowed.find((one) => one === value);
  if (match === undefined) throw invalidSetting(name, value, `one of ${allowed.join(", ")}`);
  return match;
}

/** Returns the reader of one of several words. */
export function oneWordOf<const T extends string>(allowed: readonly T[]) {
  return (name: string, value: string): T => readOneOf(name, value, allowed);
}

/**
 * Adds an address, or a network such as 10.0.0.0/8, to a list.
 * @returns false if it is neither
 */
export function addNetwork(networks: BlockList, text: string): boolean {
  const [address = "", bits, ...others] = text.split("/");
  const version = isIP(address);
  const most = version === 6 ? 128 : 32;
  if (version === 0 || others.length > 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= most)))
    return false;
  networks.addSubnet(address, bits === undefined ? most : Number(bits), version === 6 ? "ipv6" : "ipv4");
  return true;
}

/** Returns the error for a setting whose value is not allowed. */
export function invalidSetting(name: string, value: string, allowed: string): StartError {
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
export function readAuthorities(name: string, file: string): string | null {
  if (file === "") return null;
  const pem = readFile(name, file);
  try {
    void new X509Certificate(pem);
    return pem;
  } catch (error) {
    const allowed = "a file of certificates in PEM, which this one is not";
    throw new StartError(invalidSetting(name, file, allowed).message, { cause: error });
  }
}
