import { decodeMultiStream, encode } from "@msgpack/msgpack";
import test from "ava";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { call, framed, openSession } from "../ingest/listeners/grpc-client.ts";
import { encodeRequest } from "../ingest/protocols/otlp-proto.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, LOG } from "../support/service.ts";
import { killAmid } from "./killing.ts";

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

for (const kind of KINDS) {
  for (const [name, producer, isOnce] of [
    ["_bulk with ids", BULK, true],
    ["Loki", LOKI, false],
  ] as const) {
    test(`${kind}: events acknowledged to ${name} survive a kill, ${isOnce ? "once" : "at least once"}`, async (t) => {
      const post = ({ post }: { readonly post: number }, numbers: readonly number[]) =>
        postUntilStored(`http://127.0.0.1:${post}${producer.path}`, producer, numbers);
      await killAmid(t, () => ({}), post, isOnce, kind);
    });
  }
}

test("events acknowledged to Fluent forward survive a kill, once", async (t) => {
  const settings = ({ listener }: { readonly listener: number }) => ({
    LOGGIA_FORWARD: `tcp://127.0.0.1:${listener}/${LOG}`,
  });
  await killAmid(t, settings, ({ listener }, numbers) => forwardUntilStored(listener, numbers), true);
});

/** Sends as clients do: the same chunk again, on a new connection, until it is acknowledged. */
async function forwardUntilStored(port: number, numbers: readonly number[]): Promise<void> {
  const time_s = Math.floor(Date.now() / 1000);
  const entries = Buffer.concat(numbers.map((n) => encode([time_s, { log: `event ${n}` }])));
  const message = encode(["app", entries, { chunk: `chunk ${numbers[0]}` }]);
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write(message);
      for await (const answer of decodeMultiStream(socket)) {
        if ((answer as { ack?: string }).ack === `chunk ${numbers[0]}`) return;
      }
    } catch {
      // The connection ended with the process.
    } finally {
      socket.destroy();
    }
    await sleep(50);
  }
}

test("events acknowledged to OTLP by gRPC survive a kill, at least once", async (t) => {
  const settings = ({ listener }: { readonly listener: number }) => ({ LOGGIA_OTLP_GRPC: `127.0.0.1:${listener}` });
  await killAmid(t, settings, ({ listener }, numbers) => exportUntilStored(listener, numbers), false);
});

async function exportUntilStored(port: number, numbers: readonly number[]): Promise<void> {
  const logRecords = numbers.map((n) => ({ body: { stringValue: `event ${n}` } }));
  const body = framed(Buffer.from(encodeRequest({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] })));
  for (;;) {
    const session = openSession(port);
    const answer = await Promise.race([
      call(session, body),
      new Promise<null>((resolve) => session.once("close", () => resolve(null))),
    ]);
    session.destroy();
    if (answer?.status === "0") return;
    await sleep(50);
  }
}

/** Posts as clients do: the same bytes again until they are acknowledged with success. */
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
