import type { z } from "zod";

import type { Catalog } from "../catalog/catalog.ts";
import type { Reply } from "../http/route.ts";
import { ATTRIBUTE_PREFIX, classHint, hintHeaders } from "../query/hints.ts";
import type { Condition, ListPlan } from "../query/plan.ts";
import type { Store } from "../store/store.ts";
import type { AttributeHints } from "./attribute-hints.ts";
import type { ResponseMemory } from "./response-memory.ts";

/** Response header for hints. */
const HEADER = "X-Loggia-Hint";
/** Most classes of a query that are checked, and most filters searched for a similar name. */
const MOST_CLASSES = 3;
const MOST_FILTERS = 1_000;

/** Returns the parameters of a route, besides those of every route. */
export function parameterNames(query: z.ZodObject | undefined): readonly string[] {
  const names = Object.keys(query?.shape ?? {});
  // A group of parameters, whose own names have this prefix.
  return names.map((name) => (name === "attributeFilters" ? ATTRIBUTE_PREFIX : name));
}

/** Adds hints to a response. */
export function withHints(reply: Reply, hints: readonly string[]): Reply {
  if (hints.length === 0) return reply;
  const before = reply.headers?.[HEADER];
  const all = before === undefined ? hints : [before, ...hints];
  return { ...reply, headers: { ...reply.headers, ...hintHeaders(all) } };
}

/** Returns hints for a query without results: classes that no event and no class filter has. */
export async function classHints(
  { catalog, store }: { readonly catalog: Pick<Catalog, "classFilters">; readonly store: Pick<Store, "rows"> },
  { logs, where }: Pick<ListPlan, "logs" | "where">,
): Promise<string[]> {
  const asked = [...new Set(classesIn(where))].slice(0, MOST_CLASSES);
  if (asked.length === 0) return [];
  const filters = logs.flatMap((log) => catalog.classFilters(log).map(({ key }) => key));
  const hints: string[] = [];
  for (const name of asked) {
    if (filters.includes(name)) continue;
    const rows = await store.rows(eventOfClass(logs, name));
    if (rows.length === 0) hints.push(classHint(name, filters.slice(0, MOST_FILTERS)));
  }
  return hints;
}

/**
 * Returns hints for a streamed response, before its results are known.
 * @param memory has been taken for the response
 */
export async function hintsBeforeResults(
  context: Parameters<typeof classHints>[0] & { readonly attributes: Pick<AttributeHints, "hints"> },
  plan: Pick<ListPlan, "logs" | "where"> & Partial<Pick<ListPlan, "columns">>,
  memory: Pick<ResponseMemory, "during">,
): Promise<string[]> {
  const [attributes, classes] = await Promise.all([context.attributes.hints(plan, memory), classHints(context, plan)]);
  return [...attributes, ...classes];
}

/** Returns the folded classes that a condition requires; excluded ones are not included. */
function classesIn(condition: Condition): string[] {
  if (condition.kind === "and" || condition.kind === "or") return condition.conditions.flatMap(classesIn);
  const isOfClass = "field" in condition && condition.field === "class";
  if (isOfClass && condition.kind === "in") return condition.values.filter((value) => value !== "");
  if (!isOfClass || condition.kind !== "text" || condition.op !== "=" || condition.value === "") return [];
  return [condition.value];
}

function eventOfClass(logs: ListPlan["logs"], name: string): ListPlan {
  const where: Condition = { kind: "text", field: "class", op: "=", value: name };
  return { kind: "list", from: { kind: "events" }, logs, where, sort: [], skip: 0, take: 1, columns: ["id"] };
}
