import type { Client } from "../../parts/api/client.ts";
import { occursClause } from "../../parts/query/range.ts";
import type { Moments } from "../../parts/query/range.ts";
import { writeField, writeString } from "../../parts/query/print.ts";
import type { CompletionContext } from "./completion-context.ts";
import { NO_COMPLETION_DATA } from "./completions.ts";
import type { CompletionData } from "./completions.ts";

const MOST_VALUES = 20;

/** Fields and values of a log within a range, as read from the service. */
export type CompletionSource = {
  /** Reads what completions need at the caret. It cancels the values of an earlier call. */
  readonly read: (context: CompletionContext) => Promise<CompletionData>;
};

export function createCompletionSource(client: Client, log: string, moments: Moments): CompletionSource {
  const answers = new Map<string, Promise<unknown>>();
  let abort = new AbortController();
  let asked = "";
  const known = new Set<string>();
  /** Sends each request once, unless it failed. */
  const once = <Body>(key: string, request: () => Promise<Body>): Promise<Body> => {
    const answer = answers.get(key) ?? request();
    answers.set(key, answer);
    answer.catch(() => answers.get(key) === answer && answers.delete(key));
    return answer as Promise<Body>;
  };
  const request = async <Body>(path: string, query: Readonly<Record<string, string | number>>, signal?: AbortSignal) =>
    (await client.request<Body>(`/1/logs/${log}/${path}`, { query, ...(signal && { signal }) })).body;
  const fields = () =>
    once("fields", () =>
      request<CompletionData["fields"]>("fields", { values: 0, created: `${moments.from}:${moments.to}` }),
    );
  const classes = () => once("classes", async () => readClasses(await request<unknown>("classFilters", {})));
  const values = (field: string, typed: string): Promise<CompletionData["values"]> => {
    const key = `${field} ${typed.toLowerCase()}`;
    if (key !== asked) {
      abort.abort();
      abort = new AbortController();
      // Forgets the cancelled request, unless it was already answered.
      if (!known.has(asked)) answers.delete(asked);
      asked = key;
    }
    return once(key, async () => {
      type Groups = readonly { readonly key: string; readonly count: string }[];
      const found = await request<Groups>("query", { query: valueQuery(field, typed, moments) }, abort.signal);
      known.add(key);
      return found.map(({ key: value, count }) => ({ value, count }));
    });
  };
  return {
    async read({ fields: wanted, valuesOf, typed, classes: wantsClasses }) {
      const [allFields, found, named] = await Promise.all([
        wanted === null ? NO_COMPLETION_DATA.fields : fields(),
        valuesOf === null || valuesOf === "level" ? NO_COMPLETION_DATA.values : values(valuesOf, typed),
        wantsClasses || valuesOf === "class" ? classes() : NO_COMPLETION_DATA.classes,
      ]);
      return { fields: allFields, values: found, classes: named };
    },
  };
}

/** Returns the query for a field's most frequent values that contain the typed text. */
export function valueQuery(field: string, typed: string, moments: Moments): string {
  const name = writeField(field);
  const where = typed === "" || field === "value" ? "" : ` WHERE ${name} CONTAINS ${writeString(typed)}`;
  const order = `COLUMNS(KEY, COUNT) SORT COUNT DESC TAKE ${MOST_VALUES}`;
  return `GET events${where} ${occursClause(moments, "UTC")} GROUPBY ${name} ${order}`;
}

function readClasses(body: unknown): CompletionData["classes"] {
  if (!Array.isArray(body)) return [];
  return body.flatMap((each: unknown) => {
    const { key, display } = each as { key?: unknown; display?: unknown };
    return typeof key === "string" ? [{ key, display: typeof display === "string" ? display : key }] : [];
  });
}
