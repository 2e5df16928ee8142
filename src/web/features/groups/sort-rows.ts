import { placeOfKey } from "../../../query/places.ts";
import type { GroupRow, Groups } from "../../parts/groups/model.ts";

/** A column by name or, if null, a key by index. */
export type GroupOrder = { readonly column: string | null; readonly key: number; readonly isDescending: boolean };

/**
 * Parses the order of an address: a column's name or a key's number, `1` for the first; a leading
 * `-` means descending. null if it names neither.
 */
export function readOrder(written: string, groups: Pick<Groups, "columns" | "keys"> | null): GroupOrder | null {
  const isDescending = written.startsWith("-");
  const name = isDescending ? written.slice(1) : written;
  if (groups?.columns.includes(name) === true) return { column: name, key: 0, isDescending };
  const key = /^\d{1,3}$/.test(name) ? Number(name) - 1 : -1;
  return groups?.keys[key] === undefined ? null : { column: null, key, isDescending };
}

export function writeOrder({ column, key, isDescending }: GroupOrder): string {
  return `${isDescending ? "-" : ""}${column ?? key + 1}`;
}

/** Sorts rows by a column or a key; without an order they stay as the service sorted them. */
export function sortRows(groups: Groups | null, order: GroupOrder | null): readonly GroupRow[] {
  const { rows, keys } = groups ?? { rows: [], keys: [] };
  if (order === null) return rows;
  const isPlace = order.column === null && keys[order.key]?.kind === "place";
  const valueOf = (row: GroupRow) =>
    order.column === null ? (row.keys[order.key] ?? "") : (row.values[order.column] ?? "");
  const compare = isPlace ? comparePlaces : compareValues;
  return rows.toSorted((one, other) =>
    order.isDescending ? compare(valueOf(other), valueOf(one)) : compare(valueOf(one), valueOf(other)),
  );
}

function compareValues(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  return Number.isNaN(difference) ? a.localeCompare(b) : difference;
}

/** Compares places from south to north, then west to east; rows without a place come first. */
function comparePlaces(a: string, b: string): number {
  const [one, other] = [a, b].map((key) => placeOfKey(key) ?? { lat: -91, lon: 0 });
  return one!.lat - other!.lat || one!.lon - other!.lon;
}
