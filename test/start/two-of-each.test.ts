import test from "ava";
import type { ExecutionContext } from "ava";

import { realEngines } from "../support/engine-kinds.ts";
import { ADMIN, AUTHORIZATION, environmentOf, get, postOnce, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/** Several logs, so that both pipelines have partitions. */
const LOGS = ["north", "south", "east", "west"] as const;
const BATCHES = 20;
const BATCH = 50;

const onCluster = realEngines ? test : test.skip;

onCluster(
  "two posting processes and two pipelines: sinceid returns each event once, a producer's in order",
  async (t) => {
    t.timeout(600_000);
    const environment = environmentOf("cluster", temporaryFolder(t));
    const start = async (roles: string): Promise<Service> => {
      const service = await startService({ ...environment, LOGGIA_ROLES: roles });
      t.teardown(() => service.close());
      return service;
    };
    const api = await start("api");
    for (const log of LOGS) await createLog(t, api, log);
    const keys = await Promise.all(LOGS.map((log) => createKey(t, api, log)));
    const posts = [await start("post"), await start("post")];
    for (let i = 0; i < 2; i++) await start("pipeline");
    const count = posts.length * BATCHES * BATCH;
    await Promise.all(
      LOGS.map(async (log, l) => {
        const posting = posts.map((service, producer) => produce(service, { log, key: keys[l]!, producer }));
        const texts = await follow(api, log, count);
        await Promise.all(posting);
        t.is(new Set(texts).size, count, `${log}: each once`);
        for (const producer of posts.keys()) {
          const own = texts.filter((text) => text.startsWith(`${producer} `));
          t.deepEqual(
            own,
            own.toSorted((a, b) => Number(a.split(" ")[1]) - Number(b.split(" ")[1])),
            log,
          );
        }
      }),
    );
  },
);

async function createLog(t: ExecutionContext, api: Service, log: string): Promise<void> {
  const body = new URLSearchParams({ key: log, display: log });
  const { status } = await fetch(`${api.apiUrl}/1/logs`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION },
    body,
  });
  t.is(status, 201, `${ADMIN.email} creates ${log}`);
}

async function createKey(t: ExecutionContext, api: Service, log: string): Promise<string> {
  const answer = await fetch(`${api.apiUrl}/manage/1/logs/${log}/apiKeys`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ scope: "write-only" }),
  });
  t.is(answer.status, 201);
  return ((await answer.json()) as { key: string }).key;
}

/** Posts batches one after the other. Texts are `<producer> <number>`. */
async function produce(
  service: Service,
  { log, key, producer }: { readonly log: string; readonly key: string; readonly producer: number },
): Promise<void> {
  for (let b = 0; b < BATCHES; b++) {
    const events = Array.from({ length: BATCH }, (_, i) => ({ text: `${producer} ${b * BATCH + i}` }));
    await postOnce(service, events, { log, key });
  }
}

/** Returns the texts of a log as seen by a poller that passes the last id that it saw. */
async function follow(api: Service, log: string, count: number): Promise<readonly string[]> {
  const texts: string[] = [];
  let since = "0".repeat(24);
  await until(
    async () => {
      const { body } = await get(api, `/1/logs/${log}/events?pagesize=500&sinceid=${since}`);
      const page = body as readonly { readonly id: string; readonly text: string }[];
      texts.push(...page.map(({ text }) => text));
      since = page.reduce((last, { id }) => (id > last ? id : last), since);
      return texts.length >= count || null;
    },
    { what: `${count} events of ${log}`, timeout_ms: 240_000 },
  );
  return texts;
}
