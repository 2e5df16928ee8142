import test from "ava";
import type { ExecutionContext } from "ava";

import { PROTOCOLS } from "../../src/ingest/protocols/list.ts";
import { bestStep_ms } from "./decode-steps.ts";
import { ENDPOINTS, worstBytes, worstJson } from "./shapes.ts";
import type { WorstRequest } from "./shapes.ts";

const LIMIT_MS = 25;

test("every protocol with paths is among the endpoints to which the worst bodies are sent", (t) => {
  const covered = new Set(ENDPOINTS.map(({ protocol }) => protocol));
  const served = PROTOCOLS.filter((protocol) => "match" in protocol);
  t.deepEqual([...covered].toSorted(), served.map(({ name }) => name).toSorted());
});

async function assertSteps(t: ExecutionContext, requests: Iterable<WorstRequest>): Promise<void> {
  let count = 0;
  for (const request of requests) {
    const step_ms = bestStep_ms(request, LIMIT_MS);
    t.true(step_ms <= LIMIT_MS, `${request.name}: a step of ${step_ms} ms`);
    count += 1;
    await new Promise(setImmediate);
  }
  t.true(count > 0);
}

test("no body of any bytes holds the thread, whatever decodes it", (t) => assertSteps(t, worstBytes(200_000)));

test("no JSON holds the thread, in items of any size", (t) => assertSteps(t, worstJson(80_000)));

test("no JSON holds the thread that is too long to be kept whole", async (t) => {
  await assertSteps(
    t,
    worstJson(800_000, (name) => /one huge item|items of 500 KB/.test(name)),
  );
});
