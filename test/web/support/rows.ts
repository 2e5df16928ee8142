import { EMPTY_ROW } from "../../../src/web/parts/rows/row.ts";
import type { ListedEvent } from "../../../src/web/parts/rows/row.ts";

/** Returns an event id: the second of acceptance, and a number that makes it unique. */
export function idOf(second: number, number = 0): string {
  return `${second.toString(16).padStart(8, "0")}${number.toString(16).padStart(16, "0")}`;
}

export function rowOf(number: number, changes: Partial<ListedEvent> = {}): ListedEvent {
  return {
    ...EMPTY_ROW,
    id: idOf(1_000_000 + number),
    created: (1_000_000 + number) * 1_000,
    text: `event ${number}`,
    source: "test",
    ...changes,
  };
}

export function rowsOf(from: number, to: number): ListedEvent[] {
  return Array.from({ length: to - from }, (_, i) => rowOf(from + i));
}
