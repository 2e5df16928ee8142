import { LEVELS } from "../../events/level.ts";
import { momentAsIso } from "../../http/moment.ts";
import type { LongList } from "../../http/streamed-list.ts";
import type { XmlValue } from "../../http/xml.ts";
import { periodKeyFormat } from "../../query/calendar.ts";
import type { Aggregate, Bands, Grouping } from "../../query/plan.ts";
import type { PlannedGroups } from "../../query/planned-query.ts";
import type { GroupValue } from "../../store/store.ts";
import { formatNumber } from "../view.ts";
import type { AnsweredGroup } from "./answer.ts";

type Fields = { readonly [field: string]: XmlValue };

/** Formats the groups of a query, of which there may be many. All values are strings. */
export function showGroups(groups: readonly AnsweredGroup[], { plan, columns }: PlannedGroups): LongList {
  const keyFormats = plan.by.map(keyFormat);
  const formats = columns.map(({ shows }) => (shows === "key" ? showNumber : valueFormat(plan.aggregates[shows])));
  const values = (of: readonly GroupValue[]): [string, XmlValue][] =>
    columns.flatMap(({ name, shows }, i) => (shows === "key" ? [] : [[name, formats[i]!(of[shows]!)]]));
  const show = ({ keys, values: own, previous }: AnsweredGroup): Fields => {
    const shownKeys = keys.map((key, i) => keyFormats[i]!(key));
    const fields = columns.flatMap(({ name, shows }, i): [string, XmlValue][] => {
      if (shows !== "key") return [[name, formats[i]!(own[shows]!)]];
      const first: [string, XmlValue] = [name, shownKeys[0] ?? ""];
      return keys.length > 1 ? [first, ["keys", shownKeys]] : [first];
    });
    if (previous !== null) fields.push(["previous", Object.fromEntries(values(previous))]);
    return Object.fromEntries(fields);
  };
  return {
    length: groups.length,
    element: "aggregate",
    show: (from, to) => groups.slice(from, to).map(show),
    showAsXml: (from, to) => groups.slice(from, to).map((group) => withListOfKeys(show(group))),
  };
}

/** In JSON keys are a list; in XML they are child elements. */
function withListOfKeys(fields: Fields): Fields {
  const { keys } = fields;
  return keys === undefined ? fields : { ...fields, keys: { key: keys } };
}

function showNumber(value: GroupValue): string {
  return typeof value === "string" ? value : formatNumber(value);
}

/** Returns the format of values. Moments are ISO 8601; a missing text is "". */
function valueFormat(aggregate: Aggregate | undefined): (value: GroupValue) => string {
  if (aggregate?.kind !== "first" && aggregate?.kind !== "last") return showNumber;
  if (aggregate.field === "created") return (value) => (value === null ? "" : momentAsIso(Number(value)));
  return (value) => (value === null ? "" : showNumber(value));
}

function keyFormat(by: Grouping): (key: GroupValue) => string {
  const format =
    by.kind === "period"
      ? periodKeyFormat(by)
      : by.kind === "bands"
        ? bandFormat(by)
        : by.kind === "level"
          ? (rank: number) => LEVELS[rank]!
          : formatNumber;
  return (key) => (typeof key === "number" ? format(key) : (key ?? ""));
}

/** Formats a band as `..0`, `0..10` or `10..`; the lower bound is inclusive. */
function bandFormat({ bounds }: Bands): (index: number) => string {
  const bound = (at: number): string => (bounds[at] === undefined ? "" : formatNumber(bounds[at]));
  return (index) => `${bound(index - 1)}..${bound(index)}`;
}
