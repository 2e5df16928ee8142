import type { DuckDBDataChunk } from "@duckdb/node-api";

import type { StoredEvent } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import { KEYWORD_FIELDS } from "../../../events/keywords.ts";
import { mapKeywords } from "../../../events/map-keywords.ts";
import { EVENT_SCHEMA } from "../../../events/schema.ts";
import { distinctTags } from "../../../events/tags.ts";
import { isAscii } from "../../../events/ascii.ts";
import { fold } from "../../../events/text.ts";
import type { Alert } from "../../store.ts";
import type { ColumnKind, AttributeCells } from "../database/attributes.ts";
import type { ChunkTable } from "./chunks.ts";
import type { ColumnStatistics } from "../memory/column-statistics.ts";
import { EVENT_WIDTH, FOLDED_FIELDS, foldedUnlessAscii, joinId, tagLine, TEXT_COLUMNS } from "../database/schema.ts";
import type { FoldedField } from "../database/schema.ts";
import { bigints, booleans, doubles, hexUbigints, structs, uintegers, where } from "./vectors/columns.ts";
import type { Column } from "./vectors/columns.ts";
import { distinctTexts, texts } from "./vectors/texts.ts";

/** A row of `events`, with the state shared by all rows that are converted together. */
export type ColumnRow = {
  readonly event: StoredEvent;
  readonly step: Step;
  /** null if the event has no attributes. */
  readonly spread: AttributeCells | null;
};

/**
 * Set while the texts of rows are written. Usually all texts are ASCII, and then no event has to be
 * examined for folded forms.
 */
type Step = { isAscii: boolean };

/**
 * Folded forms that `lower` would get wrong; null where it is right. Those of tags include equal
 * ones.
 */
type Folded = Readonly<Record<FoldedField, string | null>>;

/** Usual length of the other fields of an event. */
const FIELDS_LENGTH = 100;

/** Index in {@link eventColumns} of an id's upper integer; the lower one follows. */
const ID_HI = 1;

/**
 * The columns of `events`, in the order of the table. Folded forms come after the texts that set
 * `isAscii`; a pattern is ASCII if its text is.
 */
const eventColumns = (statistics: ColumnStatistics): readonly Column<ColumnRow>[] => [
  bigints(({ event }) => event.created),
  hexUbigints(({ event }) => event.id.slice(0, 16)),
  uintegers(({ event }) => parseInt(event.id.slice(16), 16)),
  texts(({ event }) => event.log),
  ...TEXT_COLUMNS.map(textColumn),
  texts(({ event }) => event.class, markNonAscii),
  doubles(({ event }) => event.value),
  doubles(({ event: { geo } }) => (geo !== null && "lat" in geo ? geo.lat : null)),
  doubles(({ event: { geo } }) => (geo !== null && "lon" in geo ? geo.lon : null)),
  texts(({ event: { geo } }) => (geo !== null && "ip" in geo ? geo.ip : null)),
  texts(({ event }) => event.data),
  structs<ColumnRow, Folded>(
    ({ event, step }) => (step.isAscii || isPlain(event) ? null : foldedOf(event, statistics)),
    Object.fromEntries(FOLDED_FIELDS.map((name) => [name, texts((folded) => folded?.[name] ?? null)])),
  ),
  uintegers(({ event }) => statistics.logs.numberOf(event.log)),
  texts(({ event }) => event.pattern),
  where(
    ({ spread }) => spread !== null,
    distinctTexts(({ event }) => event.attributes),
  ),
  where(
    ({ spread }) => spread !== null,
    distinctTexts(({ spread }) => spread?.others ?? null),
  ),
];

function textColumn(name: (typeof TEXT_COLUMNS)[number]): Column<ColumnRow> {
  if (name === "text") return distinctTexts(({ event }) => event.text, markNonAscii);
  if (name === "tags") return distinctTexts(({ event }) => tagLine(distinctTags(event.tags)), markNonAscii);
  const column = "varies" in EVENT_SCHEMA[name].keyword ? distinctTexts : texts;
  return column<ColumnRow>(({ event }) => event[name], markNonAscii);
}

function attributeColumn(kind: ColumnKind, column: number): Column<ColumnRow> {
  const has = ({ spread }: ColumnRow): boolean => spread?.cells[column] !== undefined;
  return kind === "number"
    ? where(
        has,
        doubles(({ spread }) => (spread?.cells[column] as number | undefined) ?? null),
      )
    : where(
        has,
        texts(({ spread }) => (spread?.cells[column] as string | undefined) ?? null),
      );
}

function markNonAscii({ step }: ColumnRow): void {
  step.isAscii = false;
}

/** Returns the table of events, which records statistics about them in `statistics`. */
export function eventsTable(statistics: ColumnStatistics): ChunkTable<StoredEvent, ColumnRow> {
  const columns = [...eventColumns(statistics)];
  const { kinds } = statistics.attributes;
  return {
    name: "events",
    get columns() {
      for (let column = columns.length - EVENT_WIDTH; column < kinds.length; column++) {
        columns.push(attributeColumn(kinds[column]!, column));
      }
      return columns;
    },
    toRows(events) {
      statistics.addTimes(events);
      statistics.addUsers(events);
      const step = { isAscii: true };
      const spreads = spreadsOf(events, statistics);
      return events.map((event, i) => ({ event, step, spread: spreads?.[i] ?? null }));
    },
    // Patterns and folded forms are as long as the text, columns of attributes as these.
    lengthOf: ({ text, link, data, attributes }) =>
      FIELDS_LENGTH + 2 * text.length + link.length + (data?.length ?? 0) + 2 * (attributes?.length ?? 0),
  };
}

/** Returns null if no event has attributes. */
function spreadsOf(events: readonly StoredEvent[], statistics: ColumnStatistics): (AttributeCells | null)[] | null {
  if (events.every(({ attributes }) => attributes === null)) return null;
  return statistics.attributes.spread(
    events.map(({ log, attributes }) =>
      attributes === null ? null : { log: statistics.logs.numberOf(log), attributes },
    ),
  );
}

/** Returns the ids of the events in a chunk, in the order of rows. */
export function chunkEventIds(chunk: DuckDBDataChunk): EventId[] {
  const [hi, lo] = [chunk.getColumnValues(ID_HI), chunk.getColumnValues(ID_HI + 1)] as [bigint[], number[]];
  return hi.map((high, row) => joinId(high, lo[row]!));
}

export const ALERTS_TABLE: ChunkTable<Alert, Alert> = {
  name: "alerts",
  columns: [
    hexUbigints(({ event }) => event.id.slice(0, 16)),
    uintegers(({ event }) => parseInt(event.id.slice(16), 16)),
    texts(({ user }) => user),
    texts(({ event }) => event.log),
    booleans(() => false),
  ],
  toRows: (alerts) => alerts,
  lengthOf: () => FIELDS_LENGTH,
};

/** Returns whether all texts are ASCII, as is usual. Then none has a separate folded form. */
function isPlain(event: StoredEvent): boolean {
  const { text, pattern, tags } = event;
  const areTexts = isAscii(text) && isAscii(pattern) && isAscii(event.class ?? "");
  return areTexts && KEYWORD_FIELDS.every((name) => isAscii(event[name])) && tags.every(isAscii);
}

function foldedOf(event: StoredEvent, statistics: ColumnStatistics): Folded {
  const { tags } = event;
  const folded = {
    ...mapKeywords((name) => foldedUnlessAscii(event[name])),
    text: foldedUnlessAscii(event.text),
    pattern: foldedUnlessAscii(event.pattern),
    tags: tags.every(isAscii) ? null : tagLine(distinctTags(tags).map(fold)),
    class: foldedUnlessAscii(event.class ?? ""),
  };
  for (const field of FOLDED_FIELDS) if (folded[field] !== null) statistics.add(field);
  return folded;
}
