import type { Client } from "../api/client.ts";
import { occursClause } from "../ask/range.ts";
import type { Moments } from "../ask/range.ts";
import { writeField, writeString } from "../ask/print.ts";
import { isAttribute } from "../../query/plan.ts";
import type { Want } from "./complete.ts";
import { NO_FACTS } from "./offers.ts";
import type { Facts } from "./offers.ts";

const MOST_VALUES = 20;

/** What the service tells of a log's fields and values within a range; each is asked for once. */
export type FactSource = {
  /** What completions need where the caret is. Aborts what an earlier call still asks for. */
  readonly read: (want: Want) => Promise<Facts>;
};

export function createFactSource(client: Client, log: string, moments: Moments): FactSource {
  const answers = new Map<string, Promise<unknown>>();
  let abort = new AbortController();
  const once = <Body>(key: string, ask: () => Promise<Body>): Promise<Body> => {
    const known = answers.get(key) ?? ask();
    answers.set(key, known);
    // What failed is asked again.
    known.catch(() => answers.delete(key));
    return known as Promise<Body>;
  };
  const ask = async <Body>(path: string, query: Readonly<Record<string, string | number>>): Promise<Body> =>
    (await client.ask<Body>(`/1/logs/${log}/${path}`, { query, signal: abort.signal })).body;
  const fields = () =>
    once("fields", () => ask<Facts["fields"]>("fields", { values: 0, created: `${moments.from}:${moments.to}` }));
  const classes = () => once("classes", async () => readClasses(await ask<unknown>("classFilters", {})));
  const values = (field: string, typed: string) =>
    once(`${field} ${typed.toLowerCase()}`, async () => {
      const found = await ask<readonly { key: string; count: string }[]>("query", {
        query: valueQuery(field, typed, moments),
      });
      return found.map(({ key, count }) => ({ value: key, count }));
    });
  return {
    async read({ fields: wanted, valuesOf, typed, classes: wantsClasses }) {
      abort.abort();
      abort = new AbortController();
      const [known, found, named] = await Promise.all([
        wanted === null ? NO_FACTS.fields : fields(),
        valuesOf === null ? NO_FACTS.values : values(valuesOf, typed),
        wantsClasses || valuesOf === "class" ? classes() : NO_FACTS.classes,
      ]);
      return { fields: known, values: found, classes: named };
    },
  };
}

/** The most frequent values of a field that contain what was typed. */
export function valueQuery(field: string, typed: string, moments: Moments): string {
  const name = writeField(field);
  const isText = field !== "value" && (isAttribute(field) || field !== "created");
  const where = typed === "" || !isText ? "" : ` WHERE ${name} CONTAINS ${writeString(typed)}`;
  return `GET events${where} ${occursClause(moments, "UTC")} GROUPBY ${name} COLUMNS(KEY, COUNT) SORT COUNT DESC TAKE ${MOST_VALUES}`;
}

function readClasses(body: unknown): Facts["classes"] {
  if (!Array.isArray(body)) return [];
  return body.flatMap((each: unknown) => {
    const { key, display } = each as { key?: unknown; display?: unknown };
    return typeof key === "string" ? [{ key, display: typeof display === "string" ? display : key }] : [];
  });
}
