import type { Client } from "@elastic/elasticsearch";
import test from "ava";
import type { ExecutionContext } from "ava";

import { encodeAttributes } from "../../../src/events/attributes.ts";
import type { AttributeValue } from "../../../src/events/attributes.ts";
import type { LogKey, StoredEvent } from "../../../src/events/event.ts";
import type { Aggregate, Condition, GroupPlan, SortKey } from "../../../src/query/plan.ts";
import { namesIn } from "../../../src/store/elasticsearch/documents/mapping.ts";
import type { Names } from "../../../src/store/elasticsearch/documents/mapping.ts";
import { openElasticsearchStore } from "../../../src/store/elasticsearch/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { groupPlan, listPlan } from "../../contract/store-fixture.ts";
import { evaluateList } from "../../reference/evaluate.ts";
import { groupsAgree } from "../../reference/groups.ts";
import { elasticsearchClient } from "../../support/elasticsearch.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { uniqueName } from "../../support/temporary.ts";
import { SILENT } from "./rebuild-fixture.ts";

export const client: Client = realEngines ? elasticsearchClient(SILENT) : null!;
export const serially = realEngines ? test.serial : test.skip;

test.after.always(() => client?.close());

type AttributesFixture = { readonly store: Store; readonly names: Names; readonly reopen: () => Promise<Store> };

/**
 * Opens a store in a namespace of the test's own.
 * @param own the client of the store
 * @param ownerOf the owner of a log; each log has its own by default
 */
export async function open(
  t: ExecutionContext,
  own = client,
  ownerOf: (log: LogKey) => string = (log) => log,
): Promise<AttributesFixture> {
  t.timeout(240_000);
  const namespace = uniqueName("attributes");
  const names = namesIn(namespace);
  t.teardown(async () => {
    const left = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
    if (left.length > 0) await client.indices.delete({ index: left });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
  });
  const reopen = async (): Promise<Store> => {
    const store = await openElasticsearchStore({ client: own, namespace, log: SILENT, ownerOf });
    t.teardown(() => store[Symbol.asyncDispose]());
    return store;
  };
  return { store: await reopen(), names, reopen };
}

export function attributes(values: Record<string, AttributeValue | readonly AttributeValue[]>): string {
  return encodeAttributes(new Map(Object.entries(values)));
}

export const COUNT: Aggregate = { kind: "count", where: null };

export async function listsAgree(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  asked: { where?: Condition; sort?: readonly SortKey[] },
): Promise<void> {
  const plan = listPlan(events[0]!.log, { ...asked, skip: 1, take: 50 });
  const { rows, total } = await store.list(plan);
  const expected = evaluateList(plan, events);
  t.deepEqual(
    { ids: rows.map(({ id }) => id), total },
    { ids: expected.rows.map(({ id }) => id), total: expected.total },
  );
}

export async function agreeOnGroups(
  t: ExecutionContext,
  store: Store,
  events: readonly StoredEvent[],
  asked: Partial<GroupPlan>,
): Promise<void> {
  const plan = groupPlan(events[0]!.log, asked);
  const groups = await store.group(plan);
  t.true(groupsAgree(plan, groups, events), JSON.stringify({ asked, groups: groups.slice(0, 5) }));
}
