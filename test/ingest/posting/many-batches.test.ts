import test from "ava";

import { KEY, LOG, serviceOf } from "../../support/service.ts";
import { open, readResponse, statuses } from "../../security/raw.ts";

const CONNECTIONS = 64;
const BATCHES = 10_000;
const BODY = '{"text":"x"}';

test("ten thousand small batches at once are all accepted", async (t) => {
  t.timeout(300_000);
  const service = await serviceOf(t, "embedded");
  const request =
    `POST /1/logs/${LOG}/events HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\n` +
    `Content-Type: application/x-ndjson\r\nContent-Length: ${BODY.length}\r\n`;
  const ofConnection = Math.ceil(BATCHES / CONNECTIONS);
  const answers = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = await open(service.post!.port);
      const response = readResponse(socket, { timeout_ms: 300_000 });
      socket.write(`${request}\r\n${BODY}`.repeat(ofConnection - 1));
      socket.write(`${request}Connection: close\r\n\r\n${BODY}`);
      return await response;
    }),
  );
  const refused = answers
    .map(({ text }) => /HTTP\/1\.1 (?!201)[^]*/.exec(text)?.[0])
    .filter((text) => text !== undefined);
  t.deepEqual(refused, []);
  t.is(answers.flatMap(statuses).length, ofConnection * CONNECTIONS);
});
