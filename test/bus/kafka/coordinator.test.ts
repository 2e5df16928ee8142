import test from "ava";
import type { ExecutionContext } from "ava";
import type { ISocketFactory } from "kafkajs";
import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { pino } from "pino";

import { openKafkaBus } from "../../../src/bus/kafka/kafka.ts";
import { record } from "../../contract/bus.ts";
import { realEngines } from "../../support/engine-kinds.ts";
import { kafkaBrokers } from "../../support/engines.ts";
import { uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";

const log = pino({ level: "silent" });
const FIND_COORDINATOR = 10;
const COORDINATOR_NOT_AVAILABLE = 15;
/** More than a request survives by the client's own attempts, which are up to nine. */
const REFUSALS = 10;

/**
 * Starts a proxy that, while `isYoung`, answers like a broker that has not created its group
 * coordinator yet.
 */
async function startYoung(t: ExecutionContext, broker: string) {
  const young = {
    isYoung: false,
    /** Number of refused requests by the id of their group. */
    refused: new Map<string, number>(),
  };
  const server = createServer((client) => {
    const [host, port] = broker.split(":");
    const upstream = connect(Number(port), host);
    let bytes: Buffer = Buffer.alloc(0);
    client.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
        const request = bytes.subarray(0, 4 + bytes.readInt32BE(0));
        bytes = bytes.subarray(request.length);
        const isRefused = young.isYoung && request.readInt16BE(4) === FIND_COORDINATOR;
        if (isRefused) {
          const group = groupOf(request);
          young.refused.set(group, (young.refused.get(group) ?? 0) + 1);
          client.write(refuse(request));
        } else upstream.write(request);
      }
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      socket.on("error", () => {});
      socket.on("close", () => [client, upstream].forEach((one) => one.destroy()));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const socketFactory: ISocketFactory = ({ onConnect }) => connect({ host: "127.0.0.1", port }, onConnect);
  return { young, socketFactory };
}

/** The group that a FindCoordinator asks about, which follows the client's name. */
function groupOf(request: Buffer): string {
  const at = 14 + Math.max(0, request.readInt16BE(12));
  return request.toString("utf8", at + 2, at + 2 + request.readInt16BE(at));
}

/**
 * The response to FindCoordinator, versions 1 and 2: size, correlation, throttle time, error, no
 * message, no node.
 */
function refuse(request: Buffer): Buffer {
  const answer = Buffer.alloc(26);
  answer.writeInt32BE(22, 0);
  answer.writeInt32BE(request.readInt32BE(8), 4);
  answer.writeInt16BE(COORDINATOR_NOT_AVAILABLE, 12);
  answer.writeInt16BE(-1, 14);
  answer.writeInt32BE(-1, 16);
  answer.writeInt32BE(-1, 22);
  return answer;
}

const declare = realEngines ? test : test.skip;

declare("requests to a new cluster are answered once it has a group coordinator", async (t) => {
  t.timeout(600_000);
  const { young, socketFactory } = await startYoung(t, kafkaBrokers()[0]!);
  const namespace = uniqueName("bus");
  await using bus = await openKafkaBus({ brokers: kafkaBrokers(), namespace, socketFactory, partitions: 1, log });
  await bus.append("events", [record("k", "1")]);
  // That of the lag, and that of the reader.
  const areBothRefused = () => [...young.refused.values()].filter((count) => count >= REFUSALS).length === 2;
  const ask = async () => {
    Object.assign(young, { isYoung: true, refused: new Map() });
    const asked = [bus.lag("events", "g"), bus.last("events")] as const;
    let isOver = false;
    const over = Promise.allSettled(asked).then(() => (isOver = true));
    await until(() => isOver || areBothRefused(), { what: "refusals" });
    young.isYoung = false;
    await over;
    // On a slow machine the requests may have missed their deadline; then they are repeated.
    return await Promise.all(asked);
  };
  const [lag, last] = await until(ask, { what: "answers of a cluster that has a coordinator at last" });
  t.true(areBothRefused(), JSON.stringify([...young.refused]));
  t.deepEqual(lag, [{ partition: 0, first: 0, end: 1, next: 0 }]);
  t.deepEqual(
    last.map(({ value }) => value.toString()),
    ["1"],
  );
});
