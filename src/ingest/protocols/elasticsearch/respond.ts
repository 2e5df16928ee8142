import type { IncomingHttpHeaders } from "node:http";

import type { EventId } from "../../../events/id.ts";
import type { FailureAnswer, Outcome, ProtocolAnswer } from "../../kit/endpoint.ts";
import type { Action, BulkOperation, BulkRefusal } from "./decode.ts";

/** Product header. Clients refuse servers whose responses lack it. */
export const PRODUCT = Object.freeze({ "X-Elastic-Product": "Elasticsearch" });
const JSON_TYPE = "application/json";
const VENDOR_TYPE = /application\/vnd\.elasticsearch\+(?:json|x-ndjson)\s*;\s*compatible-with=(\d+)/i;

/** Elasticsearch's first version whose responses have no types. */
const FIRST_WITHOUT_TYPES = 8;

/** Outcomes of an action. */
const STORED = 0;
const DUPLICATE = 1;
const NOT_FOUND = 2;
const REFUSED = 3;
/** Maximum number of refusals whose reason is kept. A request may hold millions. */
const MAX_REASONS = 10_000;
const NO_REASON: BulkRefusal = Object.freeze({
  status: 400,
  type: "document_parsing_exception",
  reason: `more than ${MAX_REASONS} actions of the request are refused; later reasons are not kept`,
});

/** Actions of a `_bulk` request, stored compactly because there may be many. */
export class Actions {
  readonly #operations: BulkOperation[] = [];
  readonly #indices: string[] = [];
  readonly #ids: (string | null)[] = [];
  readonly #states: number[] = [];
  readonly #reasons = new Map<number, BulkRefusal>();
  readonly #began_ms = performance.now();
  #lastIndex = "";
  #hasErrors = false;

  add({ operation, index, id, refusal }: Action): void {
    const n = this.#states.length;
    // Nearly all actions name the same index. One copy of the name is kept.
    if (index !== this.#lastIndex) this.#lastIndex = index;
    this.#states.push(refusal === null ? STORED : refusal.status === 404 ? NOT_FOUND : REFUSED);
    if (refusal?.status === 400) {
      this.#hasErrors = true;
      if (this.#reasons.size < MAX_REASONS) this.#reasons.set(n, refusal);
    }
    this.#operations.push(operation);
    this.#indices.push(this.#lastIndex);
    this.#ids.push(id);
  }

  /** Marks the event of an action as stored earlier. */
  markDuplicate(n: number): void {
    this.#states[n] = DUPLICATE;
    if (this.#operations[n] === "create") this.#hasErrors = true;
  }

  /** @param filter the client's `filter_path` */
  answer(outcome: Outcome, headers: IncomingHttpHeaders, filter: string | null): ProtocolAnswer {
    const shape = shapeOf(filter, headers);
    const body = this.#pieces(outcome.ids()[Symbol.iterator](), shape);
    return { status: 200, type: elasticsearchMediaType(headers.accept), headers: PRODUCT, body };
  }

  /** Returns the response to a request that is its only action. */
  answerOnly(outcome: Outcome, accept: string | undefined): ProtocolAnswer {
    const [id = ""] = outcome.ids();
    const { status, error, ...document } = JSON.parse(this.#item(0, id, false, typePart(accept))) as Item;
    const body = error === undefined ? document : { error: { root_cause: [error], ...error }, status };
    return { status, type: elasticsearchMediaType(accept), headers: PRODUCT, body: JSON.stringify(body) };
  }

  *#pieces(ids: Iterator<EventId>, { hasItems, isShort, isBrief, type }: Shape): Generator<string> {
    const took_ms = Math.round(performance.now() - this.#began_ms);
    // Fluent Bit before 5 keeps the beginning of a long response, and searches it for this order.
    yield `{"took":${took_ms},"errors":${this.#hasErrors}`;
    if (hasItems) {
      yield `,"items":[`;
      let piece = "";
      let separator = "";
      let hasSuccess = false;
      for (let n = 0; n < this.#operations.length; n++) {
        const id = this.#states[n] === STORED ? (ids.next().value as EventId) : "";
        const isOmitted = isBrief && hasSuccess && !this.#isFailure(n);
        hasSuccess ||= !this.#isFailure(n);
        if (n % OMITTED_ITEMS === OMITTED_ITEMS - 1) yield "";
        if (isOmitted) continue;
        piece += `${separator}{"${this.#operations[n]}":${this.#item(n, id, isShort, type)}}`;
        separator = ",";
        if (piece.length < PIECE_UNITS) continue;
        yield piece;
        piece = "";
      }
      yield `${piece}]`;
    }
    yield "}";
  }

  #isFailure(n: number): boolean {
    const state = this.#states[n];
    return state === REFUSED || state === NOT_FOUND || (state === DUPLICATE && this.#operations[n] === "create");
  }

  #item(n: number, given: string, isShort: boolean, type: string): string {
    const index = this.#indices[n]!;
    const id = this.#ids[n] ?? given;
    const head = isShort ? "{" : `{"_index":${JSON.stringify(index)},${type}"_id":${JSON.stringify(id)},`;
    const state = this.#states[n];
    if (state === STORED) return isShort ? `{"status":201}` : `${head}${CREATED}`;
    if (state === NOT_FOUND) return `${head}"result":"not_found","status":404}`;
    if (state === REFUSED) {
      const refusal = this.#reasons.get(n) ?? NO_REASON;
      return `${head}"status":${refusal.status},"error":${errorOf(refusal, index)}}`;
    }
    if (this.#operations[n] !== "create") return isShort ? `{"status":200}` : `${head}${NOOP}`;
    const reason = `[${id}]: version conflict, document already exists`;
    return `${head}"status":409,"error":${errorOf({ type: "version_conflict_engine_exception", reason }, index)}}`;
  }
}

type Item = { readonly status: number; readonly error?: object };

const PIECE_UNITS = 32 * 1024;
/** Items omitted at once. */
const OMITTED_ITEMS = 4_096;
const SHARDS = `"_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1`;
const CREATED = `"_version":1,"result":"created",${SHARDS},"status":201}`;
/** Item of an event that is stored already. */
const NOOP = `"_version":1,"result":"noop",${SHARDS},"status":200}`;

function errorOf({ type, reason }: Pick<BulkRefusal, "type" | "reason">, index: string): string {
  return JSON.stringify({ type, reason, index });
}

/** Parts of a response to send: items, with status and error alone, and only one success. */
type Shape = {
  readonly hasItems: boolean;
  readonly isShort: boolean;
  readonly isBrief: boolean;
  /** See {@link typePart}. */
  readonly type: string;
};

/** Matches clients that send a request again if its response has more than 512 KB. */
const BRIEF = /^fluent-bit/i;

/** Returns which parts to send. Clients with a filter request the items' errors and statuses. */
function shapeOf(filter: string | null, { accept, "user-agent": userAgent }: IncomingHttpHeaders): Shape {
  const isBrief = BRIEF.test(userAgent ?? "");
  const type = typePart(accept);
  const paths = (filter ?? "").split(",").filter((path) => path !== "" && !path.startsWith("-"));
  if (paths.length === 0) return { hasItems: true, isShort: false, isBrief, type };
  const items = paths.filter((path) => /^(?:items|\*)/.test(path));
  const isShort = items.length > 0 && items.every((path) => /[.](?:error|status)(?:[.]|$)/.test(path));
  return { hasItems: items.length > 0, isShort, isBrief, type };
}

/** Returns the version that a client names in Elasticsearch's own media types. */
function compatibleVersion(accept = ""): string | undefined {
  return VENDOR_TYPE.exec(accept)?.[1];
}

/** Returns the type of a document, which clients of version 7 require and later ones ignore. */
function typePart(accept: string | undefined): string {
  const version = compatibleVersion(accept);
  return version === undefined || Number(version) < FIRST_WITHOUT_TYPES ? `"_type":"_doc",` : "";
}

/** Returns the requested media type if it is one of Elasticsearch's. */
export function elasticsearchMediaType(accept: string | undefined): string {
  const version = compatibleVersion(accept);
  return version === undefined ? JSON_TYPE : `application/vnd.elasticsearch+json;compatible-with=${version}`;
}

/** Elasticsearch's exceptions by status. */
const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: "illegal_argument_exception",
  401: "security_exception",
  403: "security_exception",
  413: "content_too_long_exception",
  429: "es_rejected_execution_exception",
  503: "unavailable_shards_exception",
};

/** Returns the response for the failure of a whole request. */
export const failed: FailureAnswer = ({ status, body }, _error, { accept }) => {
  const { message: reason } = (JSON.parse(body.json()) as { error: { message: string } }).error;
  const cause = { type: EXCEPTIONS[status] ?? "exception", reason };
  const error = { root_cause: [cause], ...cause };
  return { status, type: elasticsearchMediaType(accept), headers: PRODUCT, body: JSON.stringify({ error, status }) };
};
