import type { NewRecord } from "../../src/bus/bus.ts";

/**
 * A mark on the `dead-letters` topic, behind the letters that it concerns: they were sent through the pipeline again.
 *
 *     {"v":1,"redriven":["17","1-4"],"time":1308491673911}
 */
export type Mark = { readonly ids: readonly string[]; readonly time: number };

const VERSION = 1;
const KEY = "marks";

export function encodeMark({ ids, time }: Mark): NewRecord {
  return { key: KEY, value: Buffer.from(JSON.stringify({ v: VERSION, redriven: ids, time })) };
}

/** The mark that a record of the topic holds, or null where it holds none. */
export function decodeMark({ key, value }: NewRecord): Mark | null {
  if (key !== KEY) return null;
  try {
    const { v, redriven, time } = JSON.parse(value.toString("utf8"));
    return v === VERSION && Array.isArray(redriven) && typeof time === "number" ? { ids: redriven, time } : null;
  } catch {
    return null;
  }
}
