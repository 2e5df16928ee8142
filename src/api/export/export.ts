import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import type { Reader, Streamed } from "../../http/streamed.ts";
import type { LongList } from "../../http/streamed-list.ts";
import { Yielder, writeYielding } from "../../scheduling/yielding.ts";
import { planFilters } from "../../query/filters.ts";
import { readFlag } from "../../query/parameters.ts";
import { USER_FIELDS } from "../../query/plan.ts";
import type { UsersPlan } from "../../query/plan.ts";
import { planQuery, WHOLE } from "../../query/planner.ts";
import type { PlannedGroups, PlannedQuery } from "../../query/planned-query.ts";
import { parseZone } from "../../query/zone.ts";
import type { Store } from "../../store/store.ts";
import { readQueryOrFilters } from "../requested-query.ts";
import { quotaOwnerOfCaller } from "../../auth/requests/authenticate.ts";
import type { ApiCall, Context } from "../context.ts";
import { defineRoute } from "../define-route.ts";
import { showsAttributes } from "../event-view.ts";
import { answerGroups } from "../groups/answer.ts";
import { showGroups } from "../groups/view.ts";
import { hintsBeforeResults, withHints } from "../hints.ts";
import { endAtReadWatermark } from "../list.ts";
import { estimateGroupsSize, sizeOfGroups, USER_BYTES } from "../response-sizes.ts";
import { ExportQuery } from "../schemas/inputs.ts";
import { userFields } from "../view.ts";
import { eventRecords, EXPORT_BYTES, pagesOfEvents } from "./events.ts";
import type { QuestionRunner } from "./events.ts";
import { exportFormat, plainRecords, recordWriter } from "./formats.ts";
import type { ExportFormat, RecordKind, RecordWriter } from "./formats.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

/** Groups that are shown at once. */
const CHUNK_RECORDS = 250;
const USERS_PAGE = 1_000;

/** Exports all results of list parameters or a query as a stream of any size. */
export const EXPORT_ROUTE = defineRoute({
  method: "GET",
  path: "/1/logs/:log/export",
  formats: "files",
  who: "log reader",
  id: "exportEvents",
  tag: "events",
  summary: "Export all events that match filters, as a stream; the connection of an incomplete export is reset",
  query: ExportQuery,
  answers: {
    200: {
      what: "The events, in order",
      streams: ["application/x-ndjson", "text/csv", "text/xml"],
      headers: ["X-Loggia-Hint"],
    },
  },
  errors: ["saved_query_not_found", "bad_query", "too_wide", "unsupported"],
  async handle(context, call) {
    const { key } = call.access;
    const format = exportFormat(call.query, call.request.headers.accept);
    const trailer = readTrailer(call.query, format);
    const question = readQuestion(context, call, key);
    const plan = question.kind === "groups" ? question.plan : question;
    const body = await streamOf(context, call, { question, format, trailer });
    const hints = plan.kind === "users" ? [] : await hintsBeforeResults(context, plan, call.memory);
    const headers = { "Content-Disposition": `attachment; filename="${key}.${format}"` };
    return withHints({ status: 200, body, headers }, hints);
  },
});

function readQuestion(context: Context, call: ApiCall, log: LogKey): PlannedQuery {
  const asked = readQueryOrFilters(context, call, log);
  if (asked === null) {
    const plan = planFilters(call.query, { from: { kind: "events" }, logs: [log] });
    return { ...endAtReadWatermark(context, call, plan), skip: 0, take: WHOLE };
  }
  return planQuery(asked.text, { logs: [log], now_ms: context.now(), zone: parseZone(asked.tz), whole: true });
}

type Export = { readonly question: PlannedQuery; readonly format: ExportFormat; readonly trailer: boolean };

async function streamOf(context: Context, call: ApiCall, { question, format, trailer }: Export): Promise<Streamed> {
  const { store, limiter, catalog } = context;
  const quotaOwner = quotaOwnerOfCaller(catalog, call.caller);
  // Each store query counts as one of the caller's.
  const ask: QuestionRunner = (work) => limiter.query(quotaOwner, work, call.gone);
  const streamed = <Item>(kind: RecordKind<Item>, pages: AsyncIterable<readonly Item[]>): Streamed =>
    stream(recordWriter(format, kind), pages, trailer, call.scheduler);
  switch (question.kind) {
    case "list": {
      await call.memory.takeForExport(EXPORT_BYTES);
      const shape = { columns: question.columns, attributes: showsAttributes(call.query, question.columns) };
      return streamed(eventRecords(shape), pagesOfEvents(store, question, { ask, now_ms: context.now() }));
    }
    case "groups": {
      const groups = await readGroups(context, call, question);
      const list = format === "xml" ? { ...groups, show: groups.showAsXml ?? groups.show } : groups;
      return streamed(plainRecords(groups.element, headerOf(groups, question)), pagesOfList(list));
    }
    case "users":
      await call.memory.takeForExport(USERS_PAGE * USER_BYTES);
      return streamed(plainRecords("user", question.columns ?? USER_FIELDS), pagesOfUsers(store, question, ask));
    default:
      return question satisfies never;
  }
}

function stream<Item>(
  { contentType, head, write, tail }: RecordWriter<Item>,
  pages: AsyncIterable<readonly Item[]>,
  trailer: boolean,
  scheduler: Scheduler,
): Streamed {
  return {
    contentType,
    compressible: true,
    async *pieces({ signal, closing }: Reader) {
      let count = 0;
      const yielder = new Yielder(scheduler.querying);
      yield head;
      for await (const items of pages) {
        if (signal.aborted) return;
        // Abort the response rather than end it: the file is incomplete.
        if (closing()) throw new LoggiaError("overloaded", "The service is stopping; export again in a moment");
        yield* writeYielding(items, write, yielder);
        count += items.length;
      }
      yield tail;
      if (trailer) yield `${JSON.stringify({ complete: true, count })}\n`;
    },
  };
}

async function readGroups(
  { store }: Context,
  { memory, scheduler }: ApiCall,
  question: PlannedGroups,
): Promise<LongList> {
  await memory.takeForExport(estimateGroupsSize(question));
  const found = await answerGroups(store, question, scheduler.querying);
  memory.resize(sizeOfGroups(found, { kind: "json" }));
  return showGroups(found, question);
}

/** Returns the field names of groups, which are the same in all groups. */
function headerOf(groups: LongList, { plan, columns, compare }: PlannedGroups): string[] {
  const [first] = groups.show(0, Math.min(1, groups.length));
  if (first !== undefined) return Object.keys(first);
  const names = columns.flatMap(({ name, shows }) => (shows === "key" && plan.by.length > 1 ? [name, "keys"] : [name]));
  return compare === null ? names : [...names, "previous"];
}

async function* pagesOfList(list: LongList): AsyncGenerator<ReturnType<LongList["show"]>> {
  for (let from = 0; from < list.length; from += CHUNK_RECORDS)
    yield list.show(from, Math.min(from + CHUNK_RECORDS, list.length));
}

async function* pagesOfUsers(
  store: Pick<Store, "users">,
  plan: UsersPlan,
  ask: QuestionRunner,
): AsyncGenerator<ReturnType<typeof userFields>[]> {
  for (let done = 0; done < plan.take; done += USERS_PAGE) {
    const take = Math.min(USERS_PAGE, plan.take - done);
    const { rows } = await ask(() => store.users({ ...plan, skip: plan.skip + done, take }));
    if (rows.length > 0) yield rows.map((row) => userFields(row, plan.columns));
    if (rows.length < take) return;
  }
}

function readTrailer(query: URLSearchParams, format: ExportFormat): boolean {
  const trailer = readFlag(query, "trailer");
  if (!trailer || format === "ndjson") return trailer;
  throw new LoggiaError("bad_parameter", `The parameter trailer is for format=ndjson; ${format} has no such line`);
}
