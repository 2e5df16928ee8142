import { LoggiaError } from "../../../errors.ts";
import { SharedParts } from "../../kit/amplification.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfDocument } from "../../kit/document.ts";
import { isObject, parseExactly, withoutMark } from "../../kit/json.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { readTextLines, valueOfLine } from "../../kit/text-lines.ts";
import type { LineValue, TextLine } from "../../kit/text-lines.ts";
import { readOnly } from "../../kit/long-json.ts";
import { isPending, PENDING } from "../../kit/steps.ts";
import type { ProducerEvent, ReadEvent, Received } from "../../kit/endpoint.ts";

/** Operations of the bulk API. */
export const OPERATIONS = ["index", "create", "update", "delete"] as const;
export type BulkOperation = (typeof OPERATIONS)[number];

/** A bulk action, reported in order. An event follows each action without a refusal. */
export type Action = {
  readonly operation: BulkOperation;
  readonly index: string;
  /** null: the service assigns the id. */
  readonly id: string | null;
  /** Response if no event is stored; null if there is one. */
  readonly refusal: BulkRefusal | null;
};

export type BulkRefusal = { readonly status: 400 | 404; readonly type: string; readonly reason: string };

const ID_MAX_BYTES = 512;
const NO_DELETION: BulkRefusal = { status: 404, type: "not_found", reason: "events cannot be deleted by _bulk" };
const NO_EVENT: ReadEvent = { fault: NO_DELETION.reason };

/**
 * Decodes a `_bulk` body: a line per action, followed by its document except for `delete`. Blank
 * lines between actions are skipped.
 * @param indexOfPath the index of actions that name none
 * @param onAction called with each action, before its event
 * @throws LoggiaError `bad_body` if an action is malformed, or has no document
 */
export function* decodeBulk(
  received: Received,
  indexOfPath: string,
  onAction: (action: Action) => void,
): Generator<ReadEvent> {
  const lines = readTextLines(withoutMark(received.body));
  const shared = new SharedParts(received);
  let number = 0;
  // Without ids, nearly all actions are the same line.
  let lastLine = "";
  let last: Omit<Action, "refusal"> | null = null;
  for (const line of lines) {
    if (isPending(line)) {
      yield line;
      continue;
    }
    number += 1;
    if (line === "") {
      yield PENDING;
      continue;
    }
    if (typeof line !== "string") throw malformed(number, "it is too long");
    if (line !== lastLine || last === null) last = readAction(line, number, indexOfPath);
    lastLine = line;
    const { operation, index, id } = last;
    if (operation === "delete") {
      onAction({ operation, index, id, refusal: NO_DELETION });
      yield NO_EVENT;
      continue;
    }
    const text = yield* nextLine(lines);
    number += 1;
    if (text === null) throw malformed(number, "the document of the preceding action is missing");
    const { value: document, isCut } = yield* readDocument(text, operation);
    if (!isObject(document)) {
      const reason = typeof document === "string" ? document : "the document is not a JSON object";
      onAction({ operation, index, id, refusal: { status: 400, type: "document_parsing_exception", reason } });
      yield { fault: reason };
      continue;
    }
    onAction({ operation, index, id, refusal: null });
    const isNamed = index !== indexOfPath || shared.allows(index.length);
    yield tagIfCut(isCut || !isNamed, eventOf(document, last, received.choice, isNamed));
  }
  if (number === 0) throw new LoggiaError("bad_body", "request body is required");
}

function* nextLine(lines: ReturnType<typeof readTextLines>): Steps<TextLine | null> {
  for (;;) {
    const { done, value } = lines.next();
    if (done === true) return null;
    if (!isPending(value)) return value;
    yield value;
  }
}

/**
 * Decodes a body that is the document of an action.
 * @param onDocument called before its event
 * @throws LoggiaError `bad_body`
 */
export function* decodeOne(
  { body, choice }: Pick<Received, "body" | "choice">,
  action: Pick<Action, "index" | "id">,
  onDocument: () => void,
): Generator<ReadEvent> {
  if (body.length === 0) throw new LoggiaError("bad_body", "request body is required");
  requireIdLength(action.id);
  const { value, isCut } = yield* readOnly(withoutMark(body));
  if (!isObject(value)) throw new LoggiaError("bad_body", "The document must be a JSON object");
  onDocument();
  yield tagIfCut(isCut, eventOf(value, action, choice));
}

function eventOf(
  document: object,
  { index, id }: Pick<Action, "index" | "id">,
  choice: FieldChoice,
  isNamed = true,
): ProducerEvent {
  const attributes = new Map(index === "" || !isNamed ? [] : [["_index", index]]);
  if (id !== null) attributes.set("_id", id);
  const event = eventOfDocument(document, choice, { attributes });
  return id === null ? event : { ...event, id: `${index}\n${id}` };
}

function requireIdLength(id: string | null): void {
  if (id !== null && Buffer.byteLength(id) > ID_MAX_BYTES) {
    throw new LoggiaError("bad_body", `_id is longer than ${ID_MAX_BYTES} bytes`);
  }
}

function readAction(line: string, number: number, indexOfPath: string): Omit<Action, "refusal"> {
  let value: unknown;
  try {
    value = parseExactly(line);
  } catch (error) {
    throw malformed(number, (error as Error).message);
  }
  // Elasticsearch 8 ignores other members: winston-elasticsearch adds a count of its attempts.
  const [operation, ...more] = isObject(value) ? OPERATIONS.filter((known) => Object.hasOwn(value, known)) : [];
  const given = operation === undefined ? null : (value as Record<string, unknown>)[operation];
  if (operation === undefined || more.length > 0 || !isObject(given)) {
    throw malformed(number, "one of index, create, update and delete with an object is expected");
  }
  const { _index: index = indexOfPath, _id: id = null, op_type: type } = given;
  const own = operation === "index" && type === "create" ? "create" : operation;
  if (typeof index !== "string") throw malformed(number, "_index is not a string");
  const text = typeof id === "number" ? String(id) : id;
  if (text !== null && typeof text !== "string") throw malformed(number, "_id is not a string");
  if (text !== null && Buffer.byteLength(text) > ID_MAX_BYTES) {
    throw malformed(number, `_id is longer than ${ID_MAX_BYTES} bytes`);
  }
  return { operation: own, index, id: text === "" ? null : text };
}

/** Reads the document, or a fault as text. An update needs `upsert` or `doc_as_upsert`. */
function* readDocument(line: TextLine, operation: BulkOperation): Steps<LineValue> {
  const read = yield* valueOfLine(line);
  if (read instanceof Error) return { value: `the document is not valid JSON: ${read.message}`, isCut: false };
  return { value: documentOf(read.value, operation), isCut: read.isCut };
}

function documentOf(value: unknown, operation: BulkOperation): unknown {
  if (operation !== "update" || !isObject(value)) return value;
  const { doc, upsert, doc_as_upsert: asUpsert } = value;
  return upsert ?? (asUpsert === true ? doc : "events are immutable: an update needs upsert or doc_as_upsert");
}

function malformed(line: number, why: string): LoggiaError {
  return new LoggiaError("bad_body", `Malformed action/metadata line [${line}]: ${why}`);
}
