import type { EditableQuery } from "../../parts/query/compose.ts";
import { PRESETS, isSameRange, rangeName } from "../../parts/query/range.ts";
import type { Moments, WrittenRange } from "../../parts/query/range.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import type { Formats } from "../../parts/time/moments.ts";
import type { TextCondition } from "./near-value.ts";

/** `In the last 24 hours`, `Yesterday`, `Between 24 Nov 14:00 and 24 Nov 15:00`. */
export function rangeAsText(range: WrittenRange, moments: Moments, formats: Formats): string {
  const name = rangeName(range, moments, formats);
  if (name.startsWith("Last ")) return `In the ${name.toLowerCase()}`;
  if (name === "This week") return "In this week";
  if (name === "All events") return "In all the time of the log";
  if (PRESETS.some((each) => isSameRange(each.range, range))) return name;
  return `Between ${formats.short(moments.from)} and ${formats.short(moments.to)}`;
}

/** Returns `source “payment”`. @param classNameOf returns the name of a class by its key */
export function valueAsText({ field, value }: TextCondition, classNameOf: (key: string) => string): string {
  const name = field === "tags" ? "tag" : visibleText(field);
  return `${name} “${field === "class" ? classNameOf(value) : visibleText(value)}”`;
}

/** Describes what no event does: `has the source “payment”`, or the number of conditions. */
export function wantedAsText(
  parsed: EditableQuery,
  texts: readonly TextCondition[],
  classNameOf: (key: string) => string,
): string {
  const [first] = texts;
  const count = parsed.filters.length;
  if (count === 1 && first !== undefined) return `has the ${valueAsText(first, classNameOf)}`;
  const tree = parsed.filters[0]?.tree;
  if (count === 1 && tree?.kind === "contains") return `contains “${visibleText(tree.value.value)}”`;
  return count === 1 ? "meets the condition" : `meets all ${count} conditions`;
}
