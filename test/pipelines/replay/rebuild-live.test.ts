import test from "ava";
import { setTimeout as sleep } from "node:timers/promises";

import { rebuild } from "../../../pipelines/replay/rebuild.ts";
import type { EventId } from "../../../src/events/id.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, get, LOG, post, startService } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { classFilter, SILENT } from "../fixture.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const onCluster = realEngines ? test : test.skip;
const log = parseLogKey(LOG)!;

type Row = { readonly id: string; readonly text: string; readonly class?: string };

/** Repeats a step until it is stopped; stopping fails if a step has failed. */
function goOn(step: () => Promise<void>): () => Promise<void> {
  const stop = new AbortController();
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) await step();
  };
  const running = run();
  running.catch(() => {});
  return async () => {
    stop.abort();
    await running;
  };
}

async function page(service: Service, query: string): Promise<{ rows: readonly Row[]; total: number }> {
  const { status, headers, body } = await get(service, `/1/logs/${LOG}/events?${query}&total=exact`);
  if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return { rows: body as Row[], total: Number(headers.get("x-total-count")) };
}

onCluster("producers, pollers and readers of several processes are unaffected by two rebuilds", async (t) => {
  t.timeout(900_000);
  const environment = environmentOf("cluster", temporaryFolder(t));
  const service = await startService(environment);
  t.teardown(() => service.close());
  const other = await startService({ ...environment, LOGGIA_ROLES: "api" });
  t.teardown(() => other.close());
  const { catalog } = service.ports;
  await catalog.createClassFilter(log, classFilter("first", { text: "event" }));

  const posted = new Map<string, string>();
  const produce = async (): Promise<void> => {
    const text = `event ${posted.size}-${Math.random()}`;
    const { status, body } = await post(service, { text });
    t.is(status, 201);
    posted.set(body.id!, text);
  };
  for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 40 }, produce));
  await until(async () => (await page(service, "pagesize=1")).total === 400, { what: "the first events" });

  const seen = new Map<string, number>();
  let last = "0".repeat(24);
  const poll = async (): Promise<void> => {
    const { rows } = await page(other, `pagesize=500&sinceid=${last}`);
    for (const { id } of rows) {
      seen.set(id, (seen.get(id) ?? 0) + 1);
      last = id;
    }
    await sleep(20);
  };
  let least = 400;
  const list = async (): Promise<void> => {
    for (const query of ["pagesize=1", "pagesize=1&pagenum=300", `pagesize=2&search=event`]) {
      const { total } = await page(other, query);
      t.true(total >= least, `${query}: ${total} events after ${least}`);
      if (query === "pagesize=1") least = total;
    }
  };
  const known = [...posted].slice(0, 50);
  const find = async (): Promise<void> => {
    const [id, text] = known[Math.floor(Math.random() * known.length)]!;
    const row = await other.ports.store.find({ kind: "events" }, log, id as EventId);
    t.is(row?.text, text);
  };
  const produceSome = async (): Promise<void> => {
    await produce();
    await sleep(10);
  };
  const stops = [goOn(produceSome), goOn(produceSome), goOn(poll), goOn(list), goOn(find)];

  const { store } = service.ports;
  const signal = new AbortController().signal;
  const rebuilding = { ...store, rebuild: store.rebuild! };
  const scheduler = new Scheduler();
  const options = { ...service.ports, store: rebuilding, scheduler, now: Date.now, log: SILENT, since: 0, signal };
  for (const key of ["second", "third"]) {
    await catalog.createClassFilter(log, classFilter(key, { text: "event", weight: key === "second" ? 5 : 9 }));
    const start_ms = performance.now();
    const progress = await rebuild(options);
    t.log(Math.round(performance.now() - start_ms), posted.size);
    t.true((progress.rebuild?.rebuilt ?? 0) >= 400);
    t.log(progress);
  }
  for (const stop of stops) await stop();

  await until(async () => (await page(service, "pagesize=1")).total >= posted.size, { what: "all events" });
  await until(async () => seen.size >= posted.size || (await poll(), false), { what: "the poller to have seen all" });
  const rows: Row[] = [];
  for (let number = 1; rows.length < posted.size; number++) {
    const { rows: some, total } = await page(service, `pagesize=500&pagenum=${number}`);
    t.is(total, posted.size);
    rows.push(...some);
  }
  t.is(new Set(rows.map(({ id }) => id)).size, posted.size);
  t.deepEqual(
    rows.filter(({ id, text }) => posted.get(id) !== text),
    [],
  );
  t.is(rows.length, posted.size);
  t.true(
    rows.every(({ class: key }) => key === "third"),
    "today's filters count for all",
  );
  t.deepEqual(new Set(seen.keys()).symmetricDifference(new Set(posted.keys())), new Set());
  t.true(seen.values().every((times) => times === 1));
  t.log({ posted: posted.size });
  await fetch(`${service.apiUrl}/1/logs/${LOG}/events/${rows[0]!.id}`, {
    method: "DELETE",
    headers: { Authorization: AUTHORIZATION },
  });
  t.is((await page(other, "pagesize=1")).total, posted.size - 1);
});
