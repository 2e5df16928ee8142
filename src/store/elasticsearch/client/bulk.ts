import type { Client, estypes } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { setTimeout as sleep } from "node:timers/promises";

import { elasticsearchReason, translateElasticsearchError } from "../../../elasticsearch/client.ts";
import { LoggiaError } from "../../../errors.ts";
import type { WriteOutcome } from "../../store.ts";
import { BulkOperations } from "./bulk-encoding.ts";
import type { EncodedOperation } from "./bulk-encoding.ts";

/** Maximum size of a request. A node accepts 100 MB by default, but indexes best far below that. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;
const MAX_REQUEST_ITEMS = 5000;
const REQUEST_TIMEOUT_MS = 60_000;

export function createOperation(index: string, id: string, document: string): EncodedOperation {
  return `{"create":{"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id)}}}\n${document}\n`;
}

export function indexOperation(index: string, id: string, document: string): EncodedOperation {
  return `{"index":{"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id)}}}\n${document}\n`;
}

export function deleteOperation(index: string, id: string): EncodedOperation {
  return `{"delete":{"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id)}}}\n`;
}

/** Updates fields of a document if it still has the version that was read. */
export function updateOperation(
  index: string,
  id: string,
  { seqNo, primaryTerm }: { readonly seqNo: number; readonly primaryTerm: number },
  fields: object,
): EncodedOperation {
  const action = { _index: index, _id: id, if_seq_no: seqNo, if_primary_term: primaryTerm };
  return `{"update":${JSON.stringify(action)}}\n${JSON.stringify({ doc: fields })}\n`;
}

const DONE: WriteOutcome = Object.freeze({ kind: "done" });

/**
 * Sends operations in requests of bounded size, one after the other, and returns an outcome for
 * each. Creating an existing document (409) and deleting a missing one (404) count as done. If the
 * cluster is busy or unavailable for a request, the outcome of its operations and all later ones is
 * `retry`.
 */
export async function writeEncodedBulk(client: Client, operations: BulkOperations): Promise<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = [];
  for (const request of operations.runs({ most: MAX_REQUEST_ITEMS, maxBytes: MAX_REQUEST_BYTES })) {
    const answer = await send(client, request);
    outcomes.push(...answer.outcomes);
    if (answer.unavailable === null) continue;
    outcomes.push(...repeated(retry(answer.unavailable), operations.length - outcomes.length));
    break;
  }
  return outcomes;
}

/** Sends operations as {@link writeEncodedBulk} does. */
export function writeBulk(client: Client, operations: readonly EncodedOperation[]): Promise<WriteOutcome[]> {
  return writeEncodedBulk(client, BulkOperations.of(operations));
}

/** Result of one request. `unavailable`: why the cluster accepted nothing of it, or null. */
type Answer = { readonly outcomes: readonly WriteOutcome[]; readonly unavailable: string | null };

async function send(client: Client, operations: BulkOperations): Promise<Answer> {
  let response: estypes.BulkResponse;
  try {
    response = await client.bulk(
      {
        // Encoded lines: the client sends a buffer as it is.
        operations: operations.bytes as unknown as never[],
        filter_path: [
          "errors",
          "items.*.status",
          "items.*.error.type",
          "items.*.error.reason",
          "items.*.error.caused_by.reason",
        ],
      },
      { maxRetries: 0, requestTimeout: REQUEST_TIMEOUT_MS },
    );
  } catch (error) {
    return handleFailure(client, operations, error);
  }
  if (!response.errors) return { outcomes: repeated(DONE, operations.length), unavailable: null };
  return { outcomes: response.items.map((item) => outcomeOfItem(Object.values(item)[0])), unavailable: null };
}

async function handleFailure(client: Client, operations: BulkOperations, error: unknown): Promise<Answer> {
  const isRefused = error instanceof errors.ResponseError && (error.statusCode === 413 || error.statusCode === 400);
  if (!isRefused) {
    const { code, message } = translateElasticsearchError(error);
    if (code !== "store_unavailable" && !(error instanceof errors.ElasticsearchClientError)) throw error;
    return { outcomes: repeated(retry(message), operations.length), unavailable: message };
  }
  if (operations.length === 1) {
    return {
      outcomes: [{ kind: "rejected", reason: `${error.statusCode} ${elasticsearchReason(error)}` }],
      unavailable: null,
    };
  }
  // Too large, or one operation is invalid: send each half, down to the invalid operation.
  const middle = operations.length >> 1;
  const first = await send(client, operations.slice(0, middle));
  if (first.unavailable !== null)
    return { outcomes: repeated(retry(first.unavailable), operations.length), unavailable: first.unavailable };
  const second = await send(client, operations.slice(middle));
  return { outcomes: [...first.outcomes, ...second.outcomes], unavailable: second.unavailable };
}

/**
 * Errors caused by the content of a document. All other errors (no room for shards, missing
 * privileges and so on) may pass, and the document is then accepted.
 */
const REJECTED_TYPES: ReadonlySet<string> = new Set([
  "document_parsing_exception",
  "mapper_parsing_exception",
  "strict_dynamic_mapping_exception",
  "illegal_argument_exception",
  "max_bytes_length_exceeded_exception",
  "parsing_exception",
]);

function outcomeOfItem(item: estypes.BulkResponseItem | undefined): WriteOutcome {
  const status = item?.status ?? 500;
  if (status < 300 || status === 409) return DONE;
  // A delete of a missing document returns 404 without an error.
  if (status === 404 && item?.error === undefined) return DONE;
  const type = item?.error?.type ?? "error";
  // Reasons quote documents at any length. The cause, which explains the error, comes first.
  const why = [item?.error?.caused_by?.reason, item?.error?.reason].filter((part) => typeof part === "string");
  const reasons = why.map((part) => part.slice(0, MAX_REASON_LENGTH)).join("; ");
  const reason = `${status} ${type}: ${reasons || "no reason given"}`;
  return status === 400 && REJECTED_TYPES.has(type) ? { kind: "rejected", reason } : retry(reason);
}

const MAX_REASON_LENGTH = 200;

function retry(reason: string): WriteOutcome {
  return { kind: "retry", reason };
}

function repeated(outcome: WriteOutcome, times: number): WriteOutcome[] {
  return Array.from({ length: times }, () => outcome);
}

const ATTEMPTS = 4;
const BACK_OFF_MS = 100;

/**
 * Writes operations for a waiting user, with a few retries while the cluster is busy.
 * @throws LoggiaError `store_unavailable` if some still fail; the others are kept
 */
export async function writeNow(client: Client, operations: readonly EncodedOperation[]): Promise<void> {
  let left = operations;
  for (let attempt = 1; left.length > 0; attempt++) {
    const outcomes = await writeBulk(client, left);
    const failure = outcomes.find((outcome) => outcome.kind !== "done");
    if (failure === undefined) return;
    if (attempt === ATTEMPTS || failure.kind === "rejected") {
      throw new LoggiaError("store_unavailable", `Elasticsearch did not apply all of a change: ${failure.reason}`);
    }
    left = left.filter((_, i) => outcomes[i]?.kind !== "done");
    await sleep(BACK_OFF_MS * 2 ** attempt);
  }
}
