import type { ExecutionContext } from "ava";

import { freePorts } from "../../infra/engines/ports.ts";
import { Program } from "../chaos/program.ts";
import { AUTHORIZATION, environmentOf, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const COUNT = 20_000;
const BATCH = 250;
const AT_ONCE = 4;
const KILLS = 3;

/** Ports of the service, the same across restarts. */
export type Ports = { readonly post: number; readonly listener: number };

/**
 * Posts numbered events and kills the service meanwhile.
 * @param settings of the service
 * @param postUntilStored resolves once the client has an acknowledgement for these events, whose
 * texts are `event <number>`
 * @param once whether nothing may be stored twice
 * @param kind the engines of the service
 */
export async function killAmid(
  t: ExecutionContext,
  settings: (ports: Ports) => Record<string, string>,
  postUntilStored: (ports: Ports, numbers: readonly number[]) => Promise<void>,
  once: boolean,
  kind: "embedded" | "cluster" = "embedded",
): Promise<void> {
  t.timeout(600_000);
  const folder = temporaryFolder(t);
  const [apiPort = 0, post = 0, listener = 0] = await freePorts(3);
  const ports = { post, listener };
  const environment = {
    ...environmentOf(kind, folder),
    LOGGIA_API: `127.0.0.1:${apiPort}`,
    LOGGIA_POST: `127.0.0.1:${post}`,
    ...settings(ports),
  };
  await using program = await Program.start({ name: "killed", folder, environment });
  const batches = Array.from({ length: COUNT / BATCH }, (_, b) =>
    Array.from({ length: BATCH }, (_, i) => b * BATCH + i),
  );
  let stored = 0;
  const posting = Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
        await postUntilStored(ports, batch);
        stored += batch.length;
      }
    }),
  );
  for (let kills = 0; kills < KILLS; kills++) {
    await until(() => Promise.resolve(stored >= (COUNT * (kills + 1)) / 5 || null), { what: "events to be stored" });
    await program.kill();
    await program.start();
  }
  await posting;
  await assertStored(t, `http://127.0.0.1:${apiPort}`, once);
}

async function assertStored(t: ExecutionContext, api: string, once: boolean): Promise<void> {
  const texts = await until(
    async () => {
      const response = await fetch(`${api}/1/logs/${LOG}/export`, { headers: { Authorization: AUTHORIZATION } });
      const lines = (await response.text()).split("\n").filter((line) => line !== "");
      const found = lines.map((line) => (JSON.parse(line) as { text: string }).text);
      return new Set(found).size >= COUNT ? found : null;
    },
    { what: `${COUNT} events in the store` },
  );
  t.is(new Set(texts).size, COUNT);
  if (once) t.is(texts.length, COUNT);
}
