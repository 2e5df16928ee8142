import type { Client } from "@elastic/elasticsearch";
import test, { type ExecutionContext } from "ava";

import { LoggiaError } from "../../../../src/errors.ts";
import type { EventRow, LogKey, StoredEvent } from "../../../../src/events/event.ts";
import { openElasticsearchStore } from "../../../../src/store/elasticsearch/store.ts";
import type { IndexOptions } from "../../../../src/store/elasticsearch/templates.ts";
import type { RebuildOptions, RebuildProgress, Store } from "../../../../src/store/store.ts";
import { listPlan } from "../../../contract/store-fixture.ts";
import { elasticsearchClient } from "../../../support/elasticsearch.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { uniqueName } from "../../../support/temporary.ts";
import { until } from "../../../support/until.ts";
import { SILENT } from "../rebuild-fixture.ts";
import { writeEvents } from "../../../support/write-events.ts";

export const client = realEngines ? elasticsearchClient(SILENT) : null!;
export const onCluster = realEngines ? test : test.skip;

test.after.always(() => client?.close());

type RebuildFixture = {
  readonly namespace: string;
  readonly store: Store;
  /** Opens the store as another process would, with the given client. */
  readonly openOther: (other: Client) => Promise<Store>;
  /** Returns the indices of all kinds, without the namespace. */
  readonly indices: () => Promise<string[]>;
};

export async function open(t: ExecutionContext, options: IndexOptions = {}): Promise<RebuildFixture> {
  t.timeout(600_000);
  const namespace = uniqueName("rebuild");
  t.teardown(async () => {
    const left = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
    if (left.length > 0) await client.indices.delete({ index: left });
    await client.indices.deleteIndexTemplate({ name: `${namespace}-*` });
  });
  const openOther = async (other: Client): Promise<Store> => {
    const store = await openElasticsearchStore({ ...options, client: other, namespace, log: SILENT });
    t.teardown(() => store[Symbol.asyncDispose]());
    return store;
  };
  const indices = async (): Promise<string[]> => {
    const names = Object.keys(await client.indices.get({ index: `${namespace}-*` }));
    return names
      .map((name) => name.slice(namespace.length + 1))
      .filter((name) => name !== "rebuild")
      .toSorted();
  };
  return { namespace, store: await openOther(client), openOther, indices };
}

export function run(store: Store, options: Partial<RebuildOptions> = {}): Promise<RebuildProgress> {
  return store.rebuild!({
    since: 0,
    fill: async () => {},
    revise: (event) => event,
    signal: new AbortController().signal,
    ...options,
  });
}

export async function all(store: Store, log: LogKey): Promise<readonly EventRow[]> {
  await store.refresh();
  return (await store.list(listPlan(log, { take: 5000 }))).rows;
}

/** Writes until the store accepts it, as the pipeline does. */
export async function writeUntilAccepted(store: Store, events: readonly StoredEvent[]): Promise<void> {
  await until(async () => (await writeEvents(store, events)).every(({ kind }) => kind === "done"), {
    what: "a write to be accepted",
    interval_ms: 200,
  });
}

/** Repeats a change as long as the store accepts no changes, as users do. */
export async function retryUntilAccepted(change: () => Promise<unknown>): Promise<void> {
  let failure: unknown;
  await until(
    async () => {
      try {
        await change();
        return true;
      } catch (error) {
        failure = error;
        return !(error instanceof LoggiaError && error.retryAfter_s !== null);
      }
    },
    { what: "a change to be accepted" },
  );
  if (failure !== undefined && !(failure instanceof LoggiaError && failure.retryAfter_s !== null)) throw failure;
}
