import test from "ava";
import type { ExecutionContext } from "ava";
import { setTimeout as sleep } from "node:timers/promises";

import { freePorts } from "../../infra/engines/ports.ts";
import { Program } from "../chaos/program.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const COUNT = 20_000;
const BATCH = 250;
const AT_ONCE = 4;
const KILLS = 3;

type Producer = { readonly path: string; readonly type: string; readonly body: (numbers: readonly number[]) => string };

const LOKI: Producer = {
  path: "/loki/api/v1/push",
  type: "application/json",
  body: (numbers) =>
    JSON.stringify({ streams: [{ stream: {}, values: numbers.map((n) => [`${Date.now()}000000`, `event ${n}`]) }] }),
};
const BULK: Producer = {
  path: "/_bulk",
  type: "application/x-ndjson",
  body: (numbers) =>
    numbers.map((n) => `{"create":{"_index":"app","_id":"id-${n}"}}\n{"message":"event ${n}"}\n`).join(""),
};

for (const [name, producer, once] of [
  ["_bulk with ids", BULK, true],
  ["Loki", LOKI, false],
] as const) {
  test(`what ${name} was told is stored survives a kill, ${once ? "once" : "at least once"}`, async (t) => {
    t.timeout(300_000);
    const folder = temporaryFolder(t);
    const [apiPort = 0, postPort = 0] = await freePorts(2);
    const environment = {
      ...environmentOf("embedded", folder),
      LOGGIA_API: `127.0.0.1:${apiPort}`,
      LOGGIA_POST: `127.0.0.1:${postPort}`,
    };
    await using program = await Program.start({ name: "killed", folder, environment });
    const batches = Array.from({ length: COUNT / BATCH }, (_, b) =>
      Array.from({ length: BATCH }, (_, i) => b * BATCH + i),
    );
    let stored = 0;
    const posting = Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
          await postUntilStored(`http://127.0.0.1:${postPort}${producer.path}`, producer, batch);
          stored += batch.length;
        }
      }),
    );
    for (let kills = 0; kills < KILLS; kills++) {
      await until(() => Promise.resolve(stored >= (COUNT * (kills + 1)) / 5 || null), {
        what: "events to be stored",
        timeout_ms: 60_000,
      });
      await program.kill();
      await program.start();
    }
    await posting;
    await assertStored(t, `http://127.0.0.1:${apiPort}`, once);
  });
}

/** As clients do: the same bytes again for as long as they are not answered with success. */
async function postUntilStored(url: string, { type, body }: Producer, numbers: readonly number[]): Promise<void> {
  const bytes = body(numbers);
  for (;;) {
    try {
      const response = await fetch(url, {
        method: "POST",
        body: bytes,
        headers: { "X-API-Key": KEY, "Content-Type": type },
      });
      await response.arrayBuffer();
      if (response.ok) return;
    } catch {
      // The connection ended with the process.
    }
    await sleep(50);
  }
}

async function assertStored(t: ExecutionContext, api: string, once: boolean): Promise<void> {
  const texts = await until(
    async () => {
      const response = await fetch(`${api}/1/logs/${LOG}/export`, { headers: { Authorization: AUTHORIZATION } });
      const lines = (await response.text()).split("\n").filter((line) => line !== "");
      const found = lines.map((line) => (JSON.parse(line) as { text: string }).text);
      return new Set(found).size >= COUNT ? found : null;
    },
    { what: `${COUNT} events in the store`, timeout_ms: 90_000 },
  );
  t.is(new Set(texts).size, COUNT);
  if (once) t.is(texts.length, COUNT);
}
