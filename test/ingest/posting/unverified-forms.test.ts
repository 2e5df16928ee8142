import test from "ava";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import type { Catalog } from "../../../src/catalog/catalog.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { createIngestMemory } from "../../../src/ingest/kit/ingest-memory.ts";
import { createPostListener } from "../../../src/ingest/posting/listener.ts";
import { LOG } from "../../support/service.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const TEXT_LENGTH = 100_000;

for (const [name, headers] of [
  ["a form", {}],
  ["a form sent as JSON", { "Content-Type": "application/json" }],
] as const) {
  test(`${name} holds memory of strangers until its key is looked up`, async (t) => {
    const memory = createIngestMemory();
    const asked = Promise.withResolvers<void>();
    const lookUp = Promise.withResolvers<null>();
    const apiKey = (): Promise<null> => {
      asked.resolve();
      return lookUp.promise;
    };
    const catalog = { cachedApiKey: () => null, apiKey, log: () => null };
    const server = createPostListener({
      catalog: catalog as unknown as Catalog,
      coalescer: {} as never,
      idempotency: {} as never,
      limits: DEFAULT_LIMITS,
      scheduler: new Scheduler(),
      log: pino({ level: "silent" }),
      memory,
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const posted = fetch(`http://127.0.0.1:${port}/1/logs/${LOG}/events`, {
      method: "POST",
      headers,
      body: `apikey=unknown-key&text=${"x".repeat(TEXT_LENGTH)}`,
    });
    await asked.promise;
    t.true(memory.unverified.held_bytes >= TEXT_LENGTH);
    lookUp.resolve(null);
    t.is((await posted).status, 401);
    t.is(memory.unverified.held_bytes, 0);
  });
}
