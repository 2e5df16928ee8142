import type { App } from "../../state/app.ts";
import type { Search } from "../../state/search.ts";
import { momentsOfKey } from "../../parts/groups/key-moments.ts";
import type { GroupKey, GroupRow, Groups } from "../../parts/groups/model.ts";
import { bandText } from "../../parts/query/choices.ts";
import { bandOfKey } from "../../parts/query/groups.ts";
import { visibleText } from "../../parts/text/visible-text.ts";
import type { Formats } from "../../parts/time/moments.ts";

/** Names of groups, and the classes that color them. */
export type GroupNames = {
  readonly nameOfKey: (index: number, value: string) => string;
  readonly nameOf: (row: GroupRow) => string;
  /** Name below a bar, which has room for an hour or a day, not for both. */
  readonly axisNameOf: (row: GroupRow) => string;
  readonly classOf: (row: GroupRow) => string | undefined;
};

export function groupNames(of: {
  readonly app: App;
  readonly search: Search;
  readonly groups: Groups;
  readonly zone: string;
  readonly formats: Formats;
}): GroupNames {
  const { app, search, groups, zone, formats } = of;
  const nameOfKey = (index: number, value: string) => {
    const key = groups.keys[index];
    if (key?.kind === "time") return timeText(key, value, zone, formats);
    if (value === "") return key?.name === "class" ? "No class" : "none";
    if (key?.kind === "bands") return bandText(bandOfKey(value)!);
    if (key?.kind === "place") return value.replace(",", ", ");
    return key?.name === "class" ? app.classes.nameOf(search.log, value) : visibleText(value);
  };
  const nameOf = ({ keys }: GroupRow) => keys.map((value, index) => nameOfKey(index, value)).join(", ");
  const classKey = groups.keys.findIndex(({ name }) => name === "class");
  return {
    nameOfKey,
    nameOf,
    axisNameOf: (row) =>
      groups.keys[0]?.kind === "time" ? nameOf(row).replace(/^\d+ \w+ (?=\d\d:)|^[A-Z]\w+ /, "") : nameOf(row),
    classOf: ({ keys }) => keys[classKey] || undefined,
  };
}

export function namesOfKeys(keys: readonly GroupKey[]): string {
  return keys.map(({ name }) => visibleText(name)).join(" and ");
}

/** Formats the time of a group as the rest of the page does. */
function timeText({ step }: GroupKey & { kind: "time" }, value: string, zone: string, formats: Formats): string {
  const moments = momentsOfKey(value, step, zone);
  if (moments === null) return value;
  const isOfDays = ["days", "weeks", "months"].includes(step.unit);
  return isOfDays ? formats.day(moments.from) : formats.short(moments.from);
}
