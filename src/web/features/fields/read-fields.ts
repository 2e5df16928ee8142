import { ApiFault, faultMessage } from "../../parts/api/client.ts";
import type { Client } from "../../parts/api/client.ts";
import type { EditableQuery } from "../../parts/query/compose.ts";
import { eventsQuery } from "../../parts/query/groups.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { sendQuery, readLogFields } from "../../state/send-query.ts";
import type { Run } from "../../state/search.ts";
import { conditioned, facetFields, MOST_FACETS, readStatistics, statisticsParts, statisticsQuery } from "./facets.ts";
import type { FieldRecord } from "../../parts/api/types.ts";
import type { FieldStatistics } from "./facets.ts";
import type { OrderedRead } from "./use-order.ts";

/** Fields per request when the statistics of a part are too much for the store. */
const FEW_FIELDS = 4;

/** Statistics of some fields, and the fields that they lack because a request failed. */
export type ReadStatistics = OrderedRead<FieldStatistics> & {
  /** null if none failed. */
  readonly failed: { readonly names: readonly string[]; readonly message: string } | null;
};

/** The fields of a run's range, all of them, and the statistics of those listed first. */
export type ReadFields = ReadStatistics & { readonly all: readonly FieldRecord[] };

/**
 * Reads the fields of the log in the range and the statistics of the first ones over the query's
 * events; null if the query has a fault. @throws the first error if no statistics could be read
 */
export async function readFields(client: Client, run: Run): Promise<ReadFields | null> {
  const parsed = eventsQuery(run.query);
  if (parsed === null) return null;
  const all = facetFields(await readLogFields(client, run, { signal: run.signal }));
  // A field of the query is listed, so that its conditions can be changed.
  const asked = new Set(parsed.filters.flatMap(({ fields }) => [...fields]));
  const listed = all.filter(({ name }, index) => index < MOST_FACETS || asked.has(name));
  return { ...(await readStatisticsOf(client, run, parsed, listed)), all };
}

/** Reads the statistics of fields that a reader has searched by name. @throws as {@link readFields} */
export async function readFound(
  client: Client,
  run: Run,
  fields: readonly FieldRecord[],
): Promise<ReadStatistics | null> {
  const parsed = eventsQuery(run.query);
  return parsed === null ? null : await readStatisticsOf(client, run, parsed, fields);
}

async function readStatisticsOf(
  client: Client,
  run: Run,
  parsed: EditableQuery,
  fields: readonly FieldRecord[],
): Promise<ReadStatistics> {
  const own = conditioned(parsed, fields);
  const parts: readonly (readonly [EditableQuery, readonly FieldRecord[]])[] = [
    ...statisticsParts(fields).map((some) => [parsed, some] as const),
    ...own.map(({ rest, field }) => [rest, [field]] as const),
  ];
  const answers = await Promise.allSettled(parts.map(([part, some]) => statisticsOf(client, run, part, some)));
  run.signal.throwIfAborted();
  const names = new Set<string>();
  let fault: unknown = null;
  // The statistics without a field's own conditions come later, and replace those with them.
  const byName = new Map<string, FieldStatistics>();
  for (const [index, answer] of answers.entries()) {
    if (answer.status === "fulfilled") for (const each of answer.value) byName.set(each.name, each);
    else {
      fault ??= answer.reason;
      for (const { name } of parts[index]![1]) names.add(name);
    }
  }
  for (const name of names) byName.delete(name);
  if (fault !== null && byName.size === 0) throw fault;
  return {
    of: String(run.number),
    entries: fields.flatMap(({ name }) => byName.get(name) ?? []),
    failed: fault === null ? null : { names: [...names], message: faultMessage(fault) },
  };
}

/** Reads the statistics of one part, in smaller ones if the store has no memory for all at once. */
async function statisticsOf(
  client: Client,
  run: Run,
  parsed: EditableQuery,
  some: readonly FieldRecord[],
): Promise<readonly FieldStatistics[]> {
  const read = async (fields: readonly FieldRecord[]) => {
    const { body } = await sendQuery<GroupRecord>(client, run, statisticsQuery(parsed, fields, run.moments, run.zone));
    return readStatistics(body[0], fields);
  };
  try {
    return await read(some);
  } catch (fault) {
    if (!(fault instanceof ApiFault && fault.code === "overloaded") || some.length <= FEW_FIELDS) throw fault;
    const statistics: FieldStatistics[] = [];
    for (let from = 0; from < some.length; from += FEW_FIELDS)
      statistics.push(...(await read(some.slice(from, from + FEW_FIELDS))));
    return statistics;
  }
}
