import { Client } from "@elastic/elasticsearch";
import test from "ava";
import { rmSync } from "node:fs";
import { join } from "node:path";

import { parseLogKey } from "../../src/events/event.ts";
import type { EventId } from "../../src/events/id.ts";
import { classFilter } from "../pipelines/fixture.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { elasticsearchUrl } from "../support/engines.ts";
import { ADMIN, AUTHORIZATION, environmentOf, get, LOG, post, settled, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const log = parseLogKey(LOG)!;

async function send(service: Service, method: string, path: string, body?: object): Promise<number> {
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  const json = body === undefined ? null : JSON.stringify(body);
  return (await fetch(service.apiUrl + path, { method, headers, body: json })).status;
}

async function textsOf(service: Service, path: string): Promise<string[]> {
  await service.ports.store.refresh();
  const { status, body } = await get(service, path);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { text: string }[]).map(({ text }) => text).toSorted();
}

async function replayInto(service: Service, into: "old" | "new"): Promise<void> {
  const state = async () => {
    const { body } = await get(service, "/manage/1/replay");
    return (body as { last: { state: string } | null }).last?.state;
  };
  await until(async () => (await send(service, "POST", "/manage/1/replay", { from: "start", into })) === 202, {
    what: "a replay to begin",
  });
  await until(async () => (await state()) === "done", { what: "the replay to end" });
}

const EVENTS = `/1/logs/${LOG}/events`;
const ALERTS = `/1/logs/${LOG}/alerts`;

/** Creates events, bookmarks and alerts, and deletes some of each over the API. */
async function prepare(service: Service): Promise<void> {
  const { catalog } = service.ports;
  await catalog.createClassFilter(log, classFilter("every", { tag: "alarm" }));
  await catalog.setClassOptions(catalog.account(ADMIN.email)!.id, log, "every", {
    alert: true,
    notify: false,
    hide: false,
  });
  const ids = new Map<string, EventId>();
  for (const text of ["gone", "kept", "unalerted", "alerted late"]) {
    if (text === "alerted late") {
      // All alerts are deleted before this one is created, and one before that alone.
      await settled(service);
      await service.ports.store.refresh();
      if ((await send(service, "DELETE", `${ALERTS}/${ids.get("unalerted")}`)) !== 204) throw new Error("not deleted");
      if ((await send(service, "DELETE", "/1/logs/alerts")) !== 204) throw new Error("not deleted");
    }
    const { status, body } = await post(service, { text, tags: "alarm" });
    if (status !== 201) throw new Error(JSON.stringify(body));
    ids.set(text, body.id as EventId);
  }
  await settled(service);
  await service.ports.store.refresh();
  if ((await send(service, "DELETE", `${EVENTS}/${ids.get("gone")}`)) !== 204) throw new Error("not deleted");
  if ((await send(service, "DELETE", `${EVENTS}/${ids.get("gone")}`)) !== 404) throw new Error("deleted twice");
  await settled(service);
}

for (const kind of KINDS) {
  test(`${kind}: a replay into a lost store obeys deletions`, async (t) => {
    t.timeout(180_000);
    const folder = join(temporaryFolder(t), "data");
    const environment = environmentOf(kind, folder);
    let service = await startService(environment);
    t.teardown(() => service.close());
    await prepare(service);
    const expected = ["alerted late", "kept", "unalerted"];
    t.deepEqual(await textsOf(service, EVENTS), expected);
    t.deepEqual(await textsOf(service, ALERTS), ["alerted late"]);

    const ways = kind === "embedded" ? (["old"] as const) : (["old", "new"] as const);
    for (const into of ways) {
      if (kind === "embedded") {
        await service.close();
        for (const ending of ["", ".wal"]) rmSync(join(folder, `events.duckdb${ending}`), { force: true });
        service = await startService(environment);
      } else {
        const elasticsearch = new Client({ node: elasticsearchUrl() });
        t.teardown(() => elasticsearch.close());
        const namespace = environment["LOGGIA_NAMESPACE"]!;
        const kinds = ["events", "alerts", "bookmarks"].map((name) => `${namespace}-${name}*`);
        const indices = Object.keys(await elasticsearch.indices.get({ index: kinds }));
        await elasticsearch.indices.delete({ index: indices });
      }
      t.deepEqual(await textsOf(service, EVENTS), []);
      await replayInto(service, into);
      t.deepEqual(await textsOf(service, EVENTS), expected, into);
      // A rebuilt store raises no alerts for old events.
      t.deepEqual(await textsOf(service, ALERTS), into === "old" ? ["alerted late"] : [], into);
    }
  });
}
