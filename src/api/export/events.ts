import { LoggiaError } from "../../errors.ts";
import { EVENT_FIELDS } from "../../events/field-order.ts";
import type { EventRow, Geo } from "../../events/event.ts";
import { levelOfTags } from "../../events/level.ts";
import { firstIdAt } from "../../events/id.ts";
import { momentAsIso } from "../../http/moment.ts";
import { afterEvent, supportsKeyset } from "../../query/keyset.ts";
import type { FieldSortKey } from "../../query/keyset.ts";
import type { Condition, EventColumn, ListPlan } from "../../query/plan.ts";
import type { Annotations, Store } from "../../store/store.ts";
import { attributeColumns, eventAsJson, eventAsXml, restOfEvent } from "../event-view.ts";
import type { EventShape } from "../event-view.ts";
import { eventsWithin } from "../response-sizes.ts";
import { csvCell } from "./formats.ts";
import type { RecordKind } from "./formats.ts";

/** Memory of an export: one page, or one being written and one being read. */
export const EXPORT_BYTES = 16 * 1024 * 1024;
/** Events in the first page, and the least and most in each further one. */
const FIRST_PAGE = 100;
const LEAST_PAGE = 10;
const MOST_PAGE = 1_000;

export type MarkedEvent = { readonly row: EventRow; readonly annotations: Annotations | undefined };

/** Runs a store query that counts as one of the caller's. */
export type QuestionRunner = <T>(question: () => Promise<T>) => Promise<T>;

/** Returns the writer of events with the columns of a shape. */
export function eventRecords(shape: EventShape): RecordKind<MarkedEvent> {
  const header: readonly EventColumn[] = [
    ...(shape.columns ?? EVENT_FIELDS),
    ...(shape.attributes && shape.columns === null ? (["attributes"] as const) : []),
  ];
  return {
    header,
    json: ({ row, annotations }) => eventAsJson(row, annotations, shape, (ms) => `"${momentAsIso(ms)}"`),
    cells: ({ row, annotations }) => cellsOf(row, annotations, header),
    xml: ({ row, annotations }) => eventAsXml(row, annotations, shape),
  };
}

function cellsOf(row: EventRow, annotations: Annotations | undefined, header: readonly EventColumn[]): string[] {
  const { geo, tags, bookmarks, alerts, ...rest } = restOfEvent(row, annotations);
  // Tags and ids contain no spaces.
  const fields = {
    id: row.id,
    created: momentAsIso(row.created),
    ...rest,
    tags: tags.join(" "),
    bookmarks: bookmarks.join(" "),
    alerts: alerts?.join(" ") ?? null,
    geo: geoText(geo),
    pattern: row.pattern,
    level: levelOfTags(row.tags),
    attributes: row.attributes ?? "{}",
    ...attributeColumns(row, header),
  };
  return header.map((column) => csvCell(fields[column as keyof typeof fields]));
}

/** Formats a place as it is posted. */
function geoText(geo: Geo | null): string {
  if (geo === null) return "";
  return "ip" in geo ? `ip:${geo.ip}` : `${geo.lat},${geo.lon}`;
}

/** Returns how many events of the last page's average size fit in the given bytes. */
function nextPage(last: readonly EventRow[], most_bytes: number): number {
  return Math.max(LEAST_PAGE, Math.min(MOST_PAGE, eventsWithin(most_bytes, last)));
}

/** Yields all events of a plan, page by page. @param now_ms milliseconds since the Unix epoch */
export function pagesOfEvents(
  store: Pick<Store, "list" | "rows" | "annotations">,
  plan: ListPlan,
  { ask, now_ms }: { readonly ask: QuestionRunner; readonly now_ms: number },
): AsyncGenerator<readonly MarkedEvent[]> {
  const { sort } = plan;
  return supportsKeyset(sort) ? keysetPages(store, { ...plan, sort }, ask) : offsetPages(store, plan, { ask, now_ms });
}

type KeysetPlan = ListPlan & { readonly sort: readonly FieldSortKey[] };
/** Start of a page (after an event), its size, and the remaining events to skip and to take. */
type PagePosition = Pick<ListPlan, "skip" | "take"> & { readonly last: EventRow | null; readonly page: number };

/** Pages by position. The next page is read while one is written, so store and reader overlap. */
async function* keysetPages(
  store: Pick<Store, "rows" | "annotations">,
  plan: KeysetPlan,
  ask: QuestionRunner,
): AsyncGenerator<readonly MarkedEvent[]> {
  const read = (place: PagePosition): ReturnType<typeof readPage> => {
    const page = readPage(store, plan, place, ask);
    // The error is handled when the page is awaited.
    page.catch(() => {});
    return page;
  };
  let page = plan.take === 0 ? null : read({ skip: plan.skip, take: plan.take, last: null, page: FIRST_PAGE });
  while (page !== null) {
    const { rows, next } = await page;
    page = next === null ? null : read(next);
    if (rows.length > 0) yield await marked(store, rows);
  }
}

async function readPage(
  store: Pick<Store, "rows">,
  plan: KeysetPlan,
  { skip, take, last, page }: PagePosition,
  ask: QuestionRunner,
): Promise<{ readonly rows: readonly EventRow[]; readonly next: PagePosition | null }> {
  const where: Condition =
    last === null ? plan.where : { kind: "and", conditions: [plan.where, afterEvent(last, plan.sort)] };
  const size = Math.min(page, skip + take);
  const found = await ask(() => store.rows({ ...plan, where, skip: 0, take: size }));
  const rows = found.slice(skip);
  const left = take - rows.length;
  if (found.length < size || left === 0) return { rows, next: null };
  const behindThem = { skip: skip - (found.length - rows.length), take: left, last: found.at(-1)! };
  return { rows, next: { ...behindThem, page: nextPage(found, EXPORT_BYTES / 2) } };
}

/**
 * Pages by offset, for an order in which no condition selects the events after a given one. Events
 * accepted after `now_ms` are left out.
 * @throws LoggiaError `conflict` if the number of events changes, as pages would overlap or skip
 * some
 */
async function* offsetPages(
  store: Pick<Store, "list" | "annotations">,
  plan: ListPlan,
  { ask, now_ms }: { readonly ask: QuestionRunner; readonly now_ms: number },
): AsyncGenerator<readonly MarkedEvent[]> {
  const later: Condition = { kind: "accepted-after", id: firstIdAt(now_ms) };
  const where: Condition = { kind: "and", conditions: [plan.where, { kind: "not", condition: later }] };
  let counted: number | null = null;
  let size = FIRST_PAGE;
  for (let done = 0; done < plan.take;) {
    const page = { ...plan, where, skip: plan.skip + done, take: Math.min(size, plan.take - done) };
    const { rows, total } = await ask(() => store.list(page));
    counted ??= total;
    if (total !== counted) throw new LoggiaError("conflict", "Events changed while they were sorted; export again");
    if (rows.length > 0) yield await marked(store, rows);
    if (rows.length < page.take) return;
    done += rows.length;
    size = nextPage(rows, EXPORT_BYTES);
  }
}

async function marked(store: Pick<Store, "annotations">, rows: readonly EventRow[]): Promise<MarkedEvent[]> {
  const annotations = await store.annotations(rows.map(({ id }) => id));
  return rows.map((row) => ({ row, annotations: annotations.get(row.id) }));
}
