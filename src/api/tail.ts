import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../errors.ts";
import type { EventRow, LogKey } from "../events/event.ts";
import { firstIdAt, parseEventId } from "../events/id.ts";
import type { EventId } from "../events/id.ts";
import { Budget } from "../ratelimit/budget.ts";
import { parseAccept } from "../http/formats.ts";
import type { Reader, Streamed } from "../http/streamed.ts";
import { queryFault } from "../query/fault.ts";
import { planFilters } from "../query/filters.ts";
import { badParameter } from "../query/parameters.ts";
import { parseQuery } from "../query/parser.ts";
import { EVERYTHING } from "../query/plan.ts";
import type { Condition, EventColumn, ListPlan } from "../query/plan.ts";
import { writeYielding, Yielder } from "../scheduling/yielding.ts";
import { planQuery } from "../query/planner.ts";
import { parseZone } from "../query/zone.ts";
import { quotaOwnerOfCaller } from "../auth/requests/authenticate.ts";
import type { ApiCall, Context } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import { showsAttributes } from "./event-view.ts";
import { EVENT_BYTES, eventsWithin } from "./response-sizes.ts";
import { readQueryOrFilters } from "./requested-query.ts";
import { hintsBeforeResults, withHints } from "./hints.ts";
import { TailQuery } from "./schemas/inputs.ts";
import { tailFormat } from "./tail-formats.ts";
import type { TailFormat } from "./tail-formats.ts";

/** Limits of open tails, per user and in total. */
const TAILS = Object.freeze({ perCaller: 8, total: 64, waitingPerCaller: 0, waitingTotal: 0, wait_ms: 0 });
const MAX_LAST = 500;
/** Most events per store query, and fewest where they are large. */
const PAGE = 100;
const LEAST_PAGE = 10;
/** Memory of a tail, for the events of one query. */
const TAIL_BYTES = 800 * 1024;
/** Interval of checks for new events: of this process's writes or the read watermark. */
const POLL_MS = 50;
const COMMENT_MS = 15_000;
/** Interval of checks that the caller may still read the log. */
const RIGHTS_MS = 1_000;
/**
 * A client that takes this long for one chunk is slow. If it is more than `MAX_BEHIND` events
 * behind, it only gets the newest.
 */
const SLOW_MS = 5_000;
const MAX_BEHIND = 1_000;
const WATERMARK_WAIT_MS = 10_000;

/** Creates the budget of open tails, for all requests of a process. */
export function createTailBudget(): Budget {
  return new Budget({
    ...TAILS,
    perCallerMessage: `You have ${TAILS.perCaller} tails open; close one before you open another`,
    totalMessage: "Too many tails are open; try again later",
  });
}

/** Streams the last events, then each new one as it is stored, until the client leaves. */
export const TAIL_ROUTE = defineRoute({
  method: "GET",
  path: "/1/logs/:log/tail",
  who: "log reader",
  id: "tailEvents",
  tag: "events",
  summary: "Stream the last events, then each new one as it is stored; `Last-Event-ID` resumes after an event",
  query: TailQuery,
  answers: {
    200: {
      what: "Server-sent events, or one JSON object per line",
      streams: ["text/event-stream", "application/x-ndjson"],
      headers: ["X-Loggia-Hint"],
    },
  },
  errors: ["saved_query_not_found", "bad_query", "too_wide", "unsupported"],
  async handle(context, call) {
    const { key } = call.access;
    const { where, columns } = readConditions(context, call, key);
    const start = readStart(call);
    const format = formatOf(call, columns);
    const tail = new Tail(context, call, { log: key, where });
    await call.memory.take(Math.max(TAIL_BYTES, start.kind === "last" ? start.count * EVENT_BYTES : 0));
    call.memory.releaseWith(await context.tails.take(quotaOwnerOfCaller(context.catalog, call.caller), 1));
    const hints = await hintsBeforeResults(context, { logs: [key], where, columns }, call.memory);
    // The client may post as soon as the response begins, and gets what it posts.
    const first = await tail.first(start);
    const body = streamed(context, tail, { format, start, first });
    // Keeps nginx from buffering.
    return withHints({ status: 200, body, headers: { "X-Accel-Buffering": "no" } }, hints);
  },
});

/** The last `count` events, or all events after an id. */
type Start = { readonly kind: "last"; readonly count: number } | { readonly kind: "after"; readonly id: EventId };

function streamed(
  { store, scheduler }: Pick<Context, "store" | "scheduler">,
  tail: Tail,
  { format, start, first }: { readonly format: TailFormat; readonly start: Start; readonly first: readonly EventRow[] },
): Streamed {
  return {
    contentType: format.contentType,
    compressible: false,
    async *pieces({ signal, closing }: Reader) {
      yield format.head;
      let rows = first;
      if (rows.length === 0 && start.kind === "last") yield format.position(tail.position);
      let written_ms = performance.now();
      while (!signal.aborted && !closing() && tail.isAllowed()) {
        if (rows.length > 0) {
          const annotations = await store.annotations(rows.map(({ id }) => id));
          written_ms = performance.now();
          yield* writeYielding(
            rows,
            (row) => format.event(row, annotations.get(row.id)),
            new Yielder(scheduler.querying),
          );
          const skipped = performance.now() - written_ms > SLOW_MS ? await tail.skipToNewest() : 0;
          if (skipped > 0) yield format.skipped(skipped);
        } else if (performance.now() - written_ms >= COMMENT_MS) {
          written_ms = performance.now();
          yield format.comment;
        }
        rows = await tail.next(signal);
      }
    },
  };
}

/** Position of one client in a log, in the order of acceptance. */
class Tail {
  readonly #context: Context;
  readonly #call: ApiCall;
  readonly #log: LogKey;
  readonly #where: Condition;
  readonly #quotaOwner: string;
  readonly #password: string | null;
  #cursor: EventId = firstIdAt(0);
  /** Events of the next query. */
  #page = PAGE;
  /** The writes of this process, or the read watermark, at the last query. */
  #seen: number | EventId | undefined;
  #checked_ms = 0;

  constructor(context: Context, call: ApiCall, { log, where }: { readonly log: LogKey; readonly where: Condition }) {
    this.#context = context;
    this.#call = call;
    this.#log = log;
    this.#where = where;
    this.#quotaOwner = quotaOwnerOfCaller(context.catalog, call.caller);
    this.#password = this.#passwordMark();
  }

  /** Id after which the client resumes. */
  get position(): EventId {
    return this.#cursor;
  }

  /** Returns the first events for the client. */
  async first(start: Start): Promise<readonly EventRow[]> {
    if (start.kind === "after") {
      this.#cursor = start.id;
      return [];
    }
    const newest = await this.#newest();
    this.#cursor = newest;
    if (start.count === 0) return [];
    const rows = await this.#rows([upTo(newest)], { order: "desc", take: start.count });
    return rows.toReversed();
  }

  /** Returns the next events; none if nothing new was stored for a while. */
  async next(signal: AbortSignal): Promise<readonly EventRow[]> {
    const { store, readWatermark } = this.#context;
    const end = readWatermark?.current();
    const newest = end ?? store.writes?.();
    if (newest !== undefined && newest === this.#seen) {
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      return [];
    }
    const bounds: Condition[] = [{ kind: "accepted-after", id: this.#cursor }];
    if (end !== undefined) bounds.push(upTo(end));
    // The first events are written.
    this.#call.memory.resize(TAIL_BYTES);
    const take = this.#page;
    const rows = await this.#rows(bounds, { order: "asc", take });
    // A search that rarely matches does not start from its last match each time.
    const searched = rows.length < take ? end : undefined;
    this.#cursor = searched ?? rows.at(-1)?.id ?? this.#cursor;
    this.#page = Math.max(LEAST_PAGE, Math.min(PAGE, eventsWithin(TAIL_BYTES, rows)));
    if (rows.length < take) this.#seen = newest;
    if (rows.length === 0 && newest === undefined) await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    return rows;
  }

  /** Skips events if there are too many to catch up with. @returns how many */
  async skipToNewest(): Promise<number> {
    const newest = await this.#newest();
    const behind: Condition[] = [{ kind: "accepted-after", id: this.#cursor }, upTo(newest)];
    const { total, rows } = await this.#ask(() =>
      this.#context.store.list(this.#plan(behind, { order: "desc", take: PAGE })),
    );
    if (total <= MAX_BEHIND) return 0;
    const oldest = rows.at(-1)!;
    this.#cursor = previousId(oldest.id);
    return total - rows.length;
  }

  /** Whether the caller may still read the log. */
  isAllowed(): boolean {
    const now_ms = performance.now();
    if (now_ms - this.#checked_ms < RIGHTS_MS) return true;
    this.#checked_ms = now_ms;
    const { catalog } = this.#context;
    const { caller } = this.#call;
    if (caller.kind === "account") {
      if (caller.session !== undefined && !catalog.hasSession(caller.session)) return false;
      return catalog.roleOf(caller.account.id, this.#log) !== null && this.#passwordMark() === this.#password;
    }
    const { id } = caller.grant;
    return catalog.log(this.#log)?.apiKeys.some((key) => key.id === id && !key.disabled) ?? false;
  }

  #passwordMark(): string | null {
    const { caller } = this.#call;
    return caller.kind === "account" ? this.#context.catalog.passwordMark(caller.account.id) : null;
  }

  /** Returns the end of what is complete. @throws LoggiaError `overloaded` if it is unknown */
  async #newest(): Promise<EventId> {
    const { readWatermark } = this.#context;
    if (readWatermark === null) {
      const plan = { ...this.#plan([], { order: "desc", take: 1 }), where: EVERYTHING };
      return (await this.#ask(() => this.#context.store.rows(plan)))[0]?.id ?? firstIdAt(0);
    }
    for (let waited_ms = 0; readWatermark.current() === firstIdAt(0); waited_ms += POLL_MS) {
      if (waited_ms >= WATERMARK_WAIT_MS) {
        throw new LoggiaError(
          "overloaded",
          "It is not known yet up to which event the log is complete; try again in a moment",
        );
      }
      await sleep(POLL_MS);
    }
    return readWatermark.current();
  }

  #rows(bounds: readonly Condition[], page: Page): Promise<readonly EventRow[]> {
    return this.#ask(() => this.#context.store.rows(this.#plan(bounds, page)));
  }

  /** Runs a store query that counts as one of the caller's. */
  #ask<T>(question: () => Promise<T>): Promise<T> {
    return this.#context.limiter.query(this.#quotaOwner, question, this.#call.gone);
  }

  #plan(bounds: readonly Condition[], { order, take }: Page): ListPlan {
    return {
      kind: "list",
      from: { kind: "events" },
      logs: [this.#log],
      where: { kind: "and", conditions: [this.#where, ...bounds] },
      sort: [{ field: "id", direction: order }],
      skip: 0,
      take,
      columns: null,
    };
  }
}

type Page = { readonly order: "asc" | "desc"; readonly take: number };

function upTo(id: EventId): Condition {
  return { kind: "not", condition: { kind: "accepted-after", id } };
}

/** Returns the id just before. */
function previousId(id: EventId): EventId {
  return (BigInt(`0x${id}`) - 1n).toString(16).padStart(24, "0") as EventId;
}

/** Reads the conditions of a query or of list parameters. A tail has no order and no paging. */
function readConditions(
  context: Context,
  call: ApiCall,
  log: LogKey,
): { readonly where: Condition; readonly columns: readonly EventColumn[] | null } {
  const question = readQueryOrFilters(context, call, log);
  if (question === null) return planFilters(call.query, { from: { kind: "events" }, logs: [log] });
  const plan = planQuery(question.text, { logs: [log], now_ms: context.now(), zone: parseZone(question.tz) });
  const { table, clauses } = parseQuery(question.text);
  if (plan.kind !== "list") {
    const what = "a tail shows events, not groups or users";
    throw queryFault(question.text, table.span, what, "Write GET events with WHERE and COLUMNS.");
  }
  const { take, skip, sort } = clauses;
  const sorted = sort === null ? undefined : sort.key.kind === "name" ? sort.key.name.span : sort.key.written.span;
  const span = sorted ?? take?.span ?? skip?.span;
  if (span === undefined) return plan;
  const what = "a tail has no SORT, TAKE or SKIP: events come as they are stored";
  throw queryFault(question.text, span, what, "The parameter last sets how many come first.");
}

function readStart(call: ApiCall): Start {
  const id = call.request.headers["last-event-id"];
  if (typeof id === "string" && id !== "") {
    const parsed = parseEventId(id.trim());
    if (parsed !== null) return { kind: "after", id: parsed };
    throw new LoggiaError("bad_parameter", "The header Last-Event-ID must be the id of an event: 24 hex digits");
  }
  const last = call.query.get("last") ?? "";
  const count = last === "" ? 0 : /^\d{1,3}$/.test(last) ? Number(last) : NaN;
  if (count <= MAX_LAST) return { kind: "last", count };
  throw badParameter("last", last, `a whole number from 0 to ${MAX_LAST}`);
}

const NDJSON = ["application/x-ndjson", "application/ndjson", "application/jsonl"] as const;

function formatOf(call: ApiCall, columns: readonly EventColumn[] | null): TailFormat {
  const ranges = parseAccept(call.request.headers.accept ?? "");
  const wanted = Math.max(...NDJSON.map((type) => ranges.get(type) ?? 0));
  const shape = { columns, attributes: showsAttributes(call.query, columns) };
  return tailFormat(wanted > (ranges.get("text/event-stream") ?? 0) ? "ndjson" : "event-stream", shape);
}
