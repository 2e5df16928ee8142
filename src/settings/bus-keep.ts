import { StartError } from "../errors.ts";
import { MB, parseSize } from "./values.ts";

/**
 * Retention of stored events on the embedded bus. Records are removed at the bound reached first.
 */
export type BusKeep = {
  /** Infinity: limited by the size only. */
  readonly time_ms: number;
  /** Infinity: limited by the time only. */
  readonly size_bytes: number;
};

const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** The bus removes expired records once a minute. */
const LEAST_MINUTES = 1;
const MOST_DAYS = 3650;
/** The file reserves this space for new records, so a smaller bound would hardly shrink it. */
const LEAST_MB = 16;
const ALLOWED =
  `a time from ${LEAST_MINUTES}m to ${MOST_DAYS}d in m, h or d, a size from ${LEAST_MB}MB on in MB or GB, ` +
  "or one of each, such as 24h,200MB";

/**
 * Reads a time, a size, or both in either order.
 * @throws StartError in one line
 */
export function readBusKeep(name: string, text: string): BusKeep {
  const refusal = (why: string): StartError =>
    new StartError(`${name} is ${JSON.stringify(text)}, ${why}; allowed: ${ALLOWED}`);
  let time_ms: number | null = null;
  let size_bytes: number | null = null;
  for (const part of text.split(",").map((each) => each.trim())) {
    const bound = readBound(part);
    if (typeof bound === "string") throw refusal(bound);
    if (bound.kind === "time") {
      if (time_ms !== null) throw refusal("which has two times");
      time_ms = bound.ms;
    } else {
      if (size_bytes !== null) throw refusal("which has two sizes");
      size_bytes = bound.bytes;
    }
  }
  return { time_ms: time_ms ?? Infinity, size_bytes: size_bytes ?? Infinity };
}

type Bound = { readonly kind: "time"; readonly ms: number } | { readonly kind: "size"; readonly bytes: number };

/** Parses a time or a size. @returns the reason if it is invalid */
function readBound(part: string): Bound | string {
  const shown = JSON.stringify(part);
  const bytes = parseSize(part);
  if (bytes !== null) {
    return bytes < LEAST_MB * MB ? `of which ${shown} is less than ${LEAST_MB}MB` : { kind: "size", bytes };
  }
  const [, count, unit] = /^(\d{1,7})([a-z]+)$/i.exec(part) ?? [];
  if (count === undefined || unit === undefined) return `of which ${shown} is not a whole number with a unit`;
  if (!Object.hasOwn(UNITS_MS, unit)) return `of which ${shown} has an unknown unit`;
  const ms = Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (ms < LEAST_MINUTES * UNITS_MS.m) return `of which ${shown} is less than ${LEAST_MINUTES}m`;
  if (ms > MOST_DAYS * UNITS_MS.d) return `of which ${shown} is more than ${MOST_DAYS}d`;
  return { kind: "time", ms };
}
