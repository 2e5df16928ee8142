import test from "ava";
import type { ExecutionContext } from "ava";

import { LoggiaError } from "../../../src/errors.ts";
import { BodyBudget } from "../../../src/http/body-budget.ts";
import { createIngestMemory } from "../../../src/ingest/kit/ingest-memory.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import type { ListenerContext } from "../../../src/ingest/listeners/listener.ts";
import { listenForGelf } from "../../../src/ingest/protocols/gelf/listen.ts";
import { until } from "../../support/until.ts";
import { contextOf, socketFor } from "./context.ts";
import { connectTo } from "./sockets.ts";

const COUNT = 60;
/** Of which one address may have five. */
const CONNECTIONS = { connections: 10, descriptors: Number.POSITIVE_INFINITY };

/** Returns memory in which one owner may hold this many bytes of small bodies. */
function bodiesWithin(size_bytes: number): ListenerContext["memory"] {
  return { ...createIngestMemory(), bodies: new BodyBudget({ most_bytes: 0, small_bytes: 2 * size_bytes }) };
}

/** Sends each event over a connection of its own while the bus is full, and then empties the bus. */
async function sendApart(
  t: ExecutionContext,
  delimiter: string,
  given: Partial<ListenerContext> = {},
): Promise<{ readonly stored: readonly string[]; readonly refused: number }> {
  const attempted = new Set<string>();
  const stored: string[] = [];
  let isFull = true;
  const coalescer: ListenerContext["coalescer"] = {
    submitLines(_log, [line]) {
      const { text } = JSON.parse(`{${line!.fields}`) as { text: string };
      attempted.add(text);
      if (isFull) return Promise.reject(new LoggiaError("overloaded", "full"));
      stored.push(text);
      return Promise.resolve(firstIdAt(0));
    },
  };
  const { context, counts } = await contextOf(t, { ...given, coalescer, connections: CONNECTIONS });
  const refused = (): number => counts.get("refused") ?? 0;
  const listener = await listenForGelf(socketFor("tcp"), context);
  for (let n = 0; n < COUNT; n++) {
    const socket = await connectTo(listener.port);
    socket.resume();
    socket.end(`{"short_message":"order ${n}"}${delimiter}`);
    await until(() => Promise.resolve(attempted.size + refused() > n || null), {
      what: "an outcome of the connection",
    });
  }
  t.is(stored.length, 0);
  isFull = false;
  await listener.close();
  t.is(counts.get("stored"), stored.length);
  return { stored, refused: refused() };
}

for (const [end, delimiter] of [
  ["a delimiter", "\0"],
  ["nothing", ""],
] as const) {
  test(`clients with a connection for each event, which ${end} ends, lose none while the bus is full`, async (t) => {
    const { stored, refused } = await sendApart(t, delimiter);
    const sent = Array.from({ length: COUNT }, (_, n) => `order ${n}`);
    t.deepEqual(stored.toSorted(), sent.toSorted());
    t.is(refused, 0);
  });

  test(`connections are refused once the events of others, which ${end} ends, fill the memory`, async (t) => {
    const memory = bodiesWithin(100_000);
    const { stored, refused } = await sendApart(t, delimiter, { memory });
    t.true(refused > 30, `${refused} of ${COUNT} connections`);
    t.is(stored.length + refused, COUNT);
  });
}

test("a connection whose events are stored holds no memory", async (t) => {
  const memory = bodiesWithin(12_000);
  const { context, bus } = await contextOf(t, { memory });
  const listener = await listenForGelf(socketFor("tcp"), context);
  const sockets = [await connectTo(listener.port), await connectTo(listener.port)];
  for (let n = 0; n < 6; n++) {
    sockets[n % 2]!.write(`{"short_message":"order ${n}"}\0`);
    await until(() => Promise.resolve(bus.texts.length > n || null), { what: `event ${n}` });
  }
  for (const socket of sockets) socket.destroy();
  await listener.close();
  t.is(bus.texts.length, 6);
});
