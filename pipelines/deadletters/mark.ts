import type { NewRecord } from "../../src/bus/bus.ts";

/**
 * A record of the `dead-letters` topic that marks earlier letters as redriven.
 *
 *     {"v":1,"redriven":["17","1-4"],"time":1308491673911}
 */
export type RedriveMark = { readonly ids: readonly string[]; readonly time: number };

const VERSION = 1;
const KEY = "marks";

export function encodeMark({ ids, time }: RedriveMark): NewRecord {
  return { key: KEY, value: Buffer.from(JSON.stringify({ v: VERSION, redriven: ids, time })) };
}

/** Decodes a record of the topic; returns null if it is not a mark. */
export function decodeMark({ key, value }: NewRecord): RedriveMark | null {
  if (key !== KEY) return null;
  try {
    const { v, redriven, time } = JSON.parse(value.toString("utf8"));
    return v === VERSION && Array.isArray(redriven) && typeof time === "number" ? { ids: redriven, time } : null;
  } catch {
    return null;
  }
}
