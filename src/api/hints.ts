import type { Catalog } from "../catalog/catalog.ts";
import type { Reply } from "../http/route.ts";
import { ATTRIBUTE_PREFIX, classHint, hintHeaders } from "../query/hints.ts";
import type { Condition, ListPlan } from "../query/plan.ts";
import type { Store } from "../store/store.ts";
import type { KnownAttributes } from "./known-attributes.ts";
import { OPERATIONS } from "./openapi/document.ts";

/** The header that a reply tells its hints in. */
const HEADER = "X-Loggia-Hint";
/** How many classes of a question are looked for, and among how many filters a similar one is. */
const MOST_CLASSES = 3;
const MOST_FILTERS = 1_000;

/** The parameters that an address knows, besides those of every address. */
export function parametersOf(method: string, path: string): readonly string[] {
  const names = Object.keys(OPERATIONS[`${method} ${path}`]?.query?.shape ?? {});
  // These are pairs with names of their own.
  return names.map((name) => (name === "attributeFilters" ? ATTRIBUTE_PREFIX : name));
}

/** A reply with further hints. */
export function withHints(reply: Reply, hints: readonly string[]): Reply {
  if (hints.length === 0) return reply;
  const before = reply.headers?.[HEADER];
  const all = before === undefined ? hints : [before, ...hints];
  return { ...reply, headers: { ...reply.headers, ...hintHeaders(all) } };
}

/**
 * Hints about a question that found nothing: classes that no event and no class filter of its logs
 * has.
 */
export async function classHints(
  { catalog, store }: { readonly catalog: Pick<Catalog, "classFilters">; readonly store: Pick<Store, "list"> },
  { logs, where }: Pick<ListPlan, "logs" | "where">,
): Promise<string[]> {
  const asked = [...new Set(classesIn(where))].slice(0, MOST_CLASSES);
  if (asked.length === 0) return [];
  const filters = logs.flatMap((log) => catalog.classFilters(log).map(({ key }) => key));
  const hints: string[] = [];
  for (const name of asked) {
    if (filters.includes(name)) continue;
    const { rows } = await store.list(eventOfClass(logs, name));
    if (rows.length === 0) hints.push(classHint(name, filters.slice(0, MOST_FILTERS)));
  }
  return hints;
}

/** Hints about a question whose answer is a stream: they are told before it is known what it finds. */
export async function hintsAhead(
  context: Parameters<typeof classHints>[0] & { readonly attributes: Pick<KnownAttributes, "hints"> },
  plan: Pick<ListPlan, "logs" | "where"> & Partial<Pick<ListPlan, "columns">>,
): Promise<string[]> {
  const [attributes, classes] = await Promise.all([context.attributes.hints(plan), classHints(context, plan)]);
  return [...attributes, ...classes];
}

/** The classes that a condition asks for, folded; one that it excludes is none. */
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
