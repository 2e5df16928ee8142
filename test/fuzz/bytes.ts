import { exchange } from "../security/raw.ts";
import { AUTHORIZATION, KEY, LOG } from "../support/service.ts";
import { judge } from "./judge.ts";
import { mutate } from "./random.ts";
import type { Random } from "./random.ts";
import { Fault } from "./target.ts";
import type { Target } from "./target.ts";

const FORM = `apikey=${KEY}&text=hello&tags=a+b&value=1.5`;
const JSON_BATCH = `[{"text":"hello","tags":["a"],"value":1},{"text":""}]`;
const host = "Host: localhost\r\n";
const basic = `Authorization: ${AUTHORIZATION}\r\n`;

/** Valid requests, from which the others are made. */
const SEEDS: readonly string[] = [
  `POST /1/logs/${LOG}/events HTTP/1.1\r\n${host}Content-Length: ${FORM.length}\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n${FORM}`,
  `POST /1/logs/${LOG}/events HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${FORM.length.toString(16)}\r\n${FORM}\r\n0\r\n\r\n`,
  `POST /1/logs/${LOG}/events?apikey=${KEY} HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: ${JSON_BATCH.length}\r\n\r\n${JSON_BATCH}`,
  `POST /1/logs/${LOG}/events HTTP/1.1\r\n${host}X-API-Key: ${KEY}\r\nContent-Encoding: gzip\r\nContent-Type: application/x-ndjson\r\nContent-Length: 20\r\n\r\n\u001f\u008b\u0008\0\0\0\0\0\0\u0003\u0003\0\0\0\0\0\0\0\0\0`,
  `GET /1/logs/${LOG}/events?fmt=jsonp&callback=f&apikey=${KEY}&text=hello HTTP/1.1\r\n${host}\r\n`,
  `GET /1/logs/${LOG}/events?pagenum=1&pagesize=5&text=a HTTP/1.1\r\n${host}${basic}Accept: text/xml;q=0.9, application/json;q=0.1\r\nAccept-Encoding: gzip, br\r\n\r\n`,
  `GET /1/logs/${LOG}/query?query=GET%20events HTTP/1.0\r\n${basic}Connection: keep-alive\r\n\r\n`,
  `PUT /manage/1/accounts/ann@example.org HTTP/1.1\r\n${host}${basic}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
  `CONNECT example.org:443 HTTP/1.1\r\n${host}\r\n`,
  `GET http://localhost/health/ready HTTP/1.1\r\n${host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
  `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
  "\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003",
];

const AT_ONCE = 64;

/** Sends raw bytes to both addresses; every response must be valid HTTP, or there must be none. */
export async function fuzzBytes(target: Target, random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  while (performance.now() < deadline_ms) {
    const batch = Array.from({ length: AT_ONCE }, () => {
      const seeds = Array.from({ length: 1 + random.below(2) }, () => Buffer.from(random.oneOf(SEEDS), "latin1"));
      const bytes = random.percent(5) ? random.bytes(random.below(2_000)) : mutate(random, Buffer.concat(seeds));
      return { bytes, port: random.oneOf([target.api.port, target.post.port]) };
    });
    await Promise.all(batch.map(({ bytes, port }) => send(port, bytes)));
    tries += batch.length;
    if (tries % (AT_ONCE * 10) === 0) await target.check("raw bytes");
  }
  await target.check("raw bytes");
  return tries;
}

async function send(port: number, bytes: Buffer): Promise<void> {
  // An incomplete request is abandoned soon; its time-out is tested elsewhere.
  const { text } = await exchange(port, bytes, { timeout_ms: 300 });
  const fault = (what: string): Fault =>
    new Fault(
      `${what}\n  sent: ${JSON.stringify(bytes.toString("latin1").slice(0, 3_000))}\n  heard: ${JSON.stringify(text.slice(0, 1_000))}`,
    );
  if (text === "") return;
  if (!text.startsWith("HTTP/1.1 ")) throw fault("the answer is no HTTP");
  // Responses with a known length are checked one by one; others (to HEAD, or compressed) by their
  // status alone.
  for (const [, status] of text.matchAll(/(?:^|\n|\}|>|;)HTTP\/1\.1 (\d{3}) /g)) {
    if (Number(status) >= 500 && status !== "503") throw fault(`the status is ${status}`);
  }
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  const lines = head.split("\r\n").slice(1);
  if (lines.some((line) => !/^[\w-]+: [^\r\n]*$/.test(line))) throw fault("a line of the head is no header");
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  const status = Number(head.slice(9, 12));
  const length = Number(headers.get("Content-Length") ?? Number.NaN);
  if (status < 200 || headers.has("Content-Encoding") || body.length < length) return;
  const payload = Buffer.from(body.slice(0, length), "latin1").toString("utf8");
  const wrong = await judge({ status, headers, text: payload });
  if (wrong !== null) throw fault(wrong);
}
