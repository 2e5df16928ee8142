import test from "ava";

import { KEY, LOG, serviceOf } from "../../support/service.ts";
import { open, readResponse, statuses } from "../../security/raw.ts";

const CONNECTIONS = 64;
const BATCHES = 10_000;
const BODY = '{"text":"x"}';

test("ten thousand small batches with keys at once are all accepted", async (t) => {
  const service = await serviceOf(t, "embedded");
  let key = 0;
  const request = (): string =>
    `POST /1/logs/${LOG}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\n` +
    `Content-Type: application/x-ndjson\r\nContent-Length: ${BODY.length}\r\nIdempotency-Key: ${key++}\r\n`;
  const ofConnection = Math.ceil(BATCHES / CONNECTIONS);
  const answers = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = await open(service.post!.port);
      const response = readResponse(socket);
      const requests = Array.from({ length: ofConnection - 1 }, () => `${request()}\r\n${BODY}`);
      socket.write(`${requests.join("")}${request()}Connection: close\r\n\r\n${BODY}`);
      return statuses(await response);
    }),
  );
  const all = answers.flat();
  t.is(all.length, ofConnection * CONNECTIONS);
  t.deepEqual([...new Set(all)], [201]);
});
