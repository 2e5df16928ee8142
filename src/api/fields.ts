import { LoggiaError } from "../errors.ts";
import { wellFormed } from "../events/text.ts";
import { writeLong } from "../http/streamed-list.ts";
import type { LongList } from "../http/streamed-list.ts";
import { readRange } from "../query/filters.ts";
import { fieldsHints } from "../query/hints.ts";
import { badParameter } from "../query/parameters.ts";
import type { FieldSummary } from "../store/store.ts";
import { defineRoute } from "./define-route.ts";
import { withHints } from "./hints.ts";
import { estimateFieldsSize, sizeOfFields } from "./response-sizes.ts";
import { FieldList } from "./schemas/answers.ts";
import { FieldsQuery } from "./schemas/inputs.ts";

const VALUES = { default: 10, limit: 100 };
const PREFIX_LIMIT = 1_000;

/** Fields and attributes of a log's events, for completion and facets. */
export const FIELDS_ROUTE = defineRoute({
  method: "GET",
  path: "/1/logs/:log/fields",
  who: "log reader",
  id: "listFields",
  tag: "query",
  summary: "List the fields and attributes of a log's events, with their most frequent values",
  query: FieldsQuery,
  answers: {
    200: {
      what: "The event fields in their fixed order, then the most frequent attributes by name, 10,000 at most",
      schema: FieldList,
      headers: ["X-Loggia-Hint"],
    },
  },
  async handle({ store }, { access: log, query, memory, format, request, scheduler }) {
    const question = { log: log.key, ...readRange(query), prefix: readPrefix(query), values: readValues(query) };
    await memory.take(estimateFieldsSize(question));
    const { fields, ...leftOut } = await store.fields(question);
    memory.resize(sizeOfFields(fields, format));
    const body = await writeLong(format, showFields(fields), () => !request.socket.destroyed, scheduler);
    return withHints({ status: 200, body }, fieldsHints(leftOut));
  },
});

function readPrefix(query: URLSearchParams): string {
  const prefix = wellFormed(query.get("prefix") ?? "");
  if (prefix.length <= PREFIX_LIMIT) return prefix;
  throw new LoggiaError("bad_parameter", `The parameter prefix must have at most ${PREFIX_LIMIT} characters`);
}

function readValues(query: URLSearchParams): number {
  const text = query.get("values") ?? "";
  if (text === "") return VALUES.default;
  const values = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (values <= VALUES.limit) return values;
  throw badParameter("values", text, `a whole number from 0 to ${VALUES.limit}`);
}

/** Formats fields. Counts are strings, as in groups. */
function showFields(fields: readonly FieldSummary[]): LongList {
  const shown = (from: number, to: number) =>
    fields.slice(from, to).map(({ name, kind, count, values }) => ({
      name,
      kind,
      count: String(count),
      values: values.map((each) => ({ value: each.value, count: String(each.count) })),
    }));
  return {
    length: fields.length,
    element: "field",
    isOfLargeRecords: true,
    show: shown,
    showAsXml: (from, to) => shown(from, to).map((field) => ({ ...field, values: { value: field.values } })),
  };
}
