import { encode } from "@msgpack/msgpack";
import test from "ava";
import { once } from "node:events";
import { connect } from "node:net";
import { pino } from "pino";

import { listenForForward } from "../../../src/ingest/protocols/forward/listen.ts";
import { until } from "../../support/until.ts";
import { contextOf, FORGETFUL, socketFor } from "./context.ts";
import { connectTo } from "./sockets.ts";

const TIME_S = 1_763_632_800;

const message = (log: string, option: object = {}) => encode(["app", TIME_S, { log }, option]);

/** Resolves with the lines that a log receives. */
function logLines(): { readonly lines: { msg: string; clients: number; level: number }[]; readonly log: pino.Logger } {
  const lines: { msg: string; clients: number; level: number }[] = [];
  return { lines, log: pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) }) };
}

test("without a shared key, a client that waits for HELO sees the end, and one that was idle loses nothing", async (t) => {
  const { lines, log } = logLines();
  const { context, bus } = await contextOf(t, { log, idempotency: FORGETFUL });
  const listening = await listenForForward(socketFor("tcp"), context, undefined, 50);
  const waiting = Array.from({ length: 3 }, () =>
    connect({ port: listening.port, host: "127.0.0.1", allowHalfOpen: true }),
  );
  await Promise.all(waiting.map((socket) => once(socket.resume(), "end")));
  t.is(lines.length, 1, "a line a minute");
  t.like(lines[0], { level: 40, clients: 1 });
  t.regex(lines[0]!.msg, /wait for HELO.*shared_key/);
  const [idle, acknowledged] = waiting;
  idle!.end(message("after the end"));
  acknowledged!.end(message("without its acknowledgement", { chunk: "1" }));
  await until(() => Promise.resolve(bus.texts.length === 2 || null), { what: "both events" });
  t.deepEqual(bus.texts.toSorted(), ["after the end", "without its acknowledgement"]);
  for (const socket of waiting) socket.destroy();
  await listening.close();
});

test("connections of clients that send, close or have to prove a shared key are not ended", async (t) => {
  const { lines, log } = logLines();
  const { context, bus } = await contextOf(t, { log });
  const listening = await listenForForward(socketFor("tcp"), context, undefined, 100);
  const sending = await connectTo(listening.port);
  let hasEnded = false;
  sending.once("end", () => (hasEnded = true)).resume();
  sending.write(encode(null));
  // A heartbeat of Fluentd: it connects and closes.
  (await connectTo(listening.port)).destroy();
  const keyed = await listenForForward(socketFor("tcp", { sharedKey: "a shared secret" }), context, undefined, 100);
  const greeted = await connectTo(keyed.port);
  greeted.once("end", () => (hasEnded = true)).resume();
  // The end of this one shows that the time of those before it is over.
  const last = await connectTo(listening.port);
  await once(last.resume(), "end");
  t.false(hasEnded);
  t.is(lines.length, 1);
  sending.write(message("later"));
  await until(() => Promise.resolve(bus.texts.length === 1 || null), { what: "the event" });
  for (const socket of [sending, greeted, last]) socket.destroy();
  await listening.close();
  await keyed.close();
});
