import test from "ava";
import { connect } from "node:net";

import { ADMIN, AUTHORIZATION, KEY, LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { shareService } from "../support/shared-service.ts";

/**
 * Requests byte by byte, as clients of many languages and ages send them. `<FORM>` stands for a
 * valid form, `<LENGTH>` for its length. The connection stays open unless a request or response
 * says otherwise, so a response is read up to its end.
 */
const FORM = `apikey=${KEY}&text=hello`;
const POST = `POST /1/logs/${LOG}/events HTTP/1.1\r\nHost: localhost`;

const TAKEN: Readonly<Record<string, string>> = {
  "curl -d": `${POST}\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\nContent-Length: <LENGTH>\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n<FORM>`,
  "curl with Expect": `${POST}\r\nAccept: */*\r\nContent-Length: <LENGTH>\r\nContent-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n<FORM>`,
  "Go's http.PostForm": `${POST}\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: <LENGTH>\r\nContent-Type: application/x-www-form-urlencoded\r\nAccept-Encoding: gzip\r\n\r\n<FORM>`,
  "Python's urllib": `${POST}\r\nAccept-Encoding: identity\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: <LENGTH>\r\nUser-Agent: Python-urllib/3.12\r\nConnection: close\r\n\r\n<FORM>`,
  "Python's requests": `${POST}\r\nUser-Agent: python-requests/2.31\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\nContent-Length: <LENGTH>\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n<FORM>`,
  "Java's HttpURLConnection": `${POST}\r\nUser-Agent: Java/21\r\nAccept: text/html, image/gif, image/jpeg, */*; q=0.2\r\nConnection: keep-alive\r\nContent-type: application/x-www-form-urlencoded\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "Java's HttpClient, which offers HTTP/2": `${POST}\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: <LENGTH>\r\nHTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA\r\nUpgrade: h2c\r\n\r\n<FORM>`,
  ".NET's HttpClient, with a charset": `${POST}\r\nContent-Type: application/x-www-form-urlencoded; charset=utf-8\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "PHP's file_get_contents, by HTTP/1.0": `POST /1/logs/${LOG}/events HTTP/1.0\r\nHost: localhost\r\nContent-type: application/x-www-form-urlencoded\r\nContent-Length: <LENGTH>\r\nConnection: close\r\n\r\n<FORM>`,
  "Perl's LWP": `${POST}\r\nTE: deflate,gzip;q=0.3\r\nConnection: TE, close\r\nUser-Agent: lwp-request/6.72\r\nContent-Length: <LENGTH>\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n<FORM>`,
  "HTTP/1.0 without Host or anything else": `POST /1/logs/${LOG}/events HTTP/1.0\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "no content type": `${POST}\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "a content type of JSON": `${POST}\r\nContent-Type: application/json\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "a content type that is none": `${POST}\r\nContent-Type: ;;;\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "a form in chunks": `${POST}\r\nTransfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n<CHUNKS>`,
  "chunks with extensions and trailers": `${POST}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n7;a=b\r\napikey=\r\n${KEY.length.toString(16)}\r\n${KEY}\r\nb\r\n&text=hello\r\n0\r\nX-Sum: 1\r\n\r\n`,
  "headers in capitals, with tabs": `${POST.toUpperCase().replace(`/1/LOGS/${LOG.toUpperCase()}/EVENTS`, `/1/logs/${LOG}/events`)}\r\nCONTENT-LENGTH:\t<LENGTH>\t\r\n\r\n<FORM>`,
  "an absolute address, as to a proxy": `POST http://localhost/1/logs/${LOG}/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "a slash at the end of the path": `POST /1/logs/${LOG}/events/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "the log's key in capitals": `POST /1/logs/${LOG.toUpperCase()}/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "an empty line before the request": `\r\n${POST}\r\nContent-Length: <LENGTH>\r\n\r\n<FORM>`,
  "a form with & at its end": `${POST}\r\nContent-Length: <LENGTH>\r\n\r\n<FORM&>`,
  "a form with a line break at its end": `${POST}\r\nContent-Length: <LENGTH>\r\n\r\n<FORM\r\n>`,
  "a form with blanks as they are": `${POST}\r\nContent-Length: <LENGTH>\r\n\r\n<FORM you all & sundry>`,
  "a form in Latin-1": `${POST}\r\nContent-Type: application/x-www-form-urlencoded; charset=iso-8859-1\r\nContent-Length: <LENGTH>\r\n\r\n<FORM caf\xe9>`,
  "the key in the address": `POST /1/logs/${LOG}/events?apikey=${KEY} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\ntext=hello`,
  "a script of a browser, by JSONP": `GET /1/logs/${LOG}/events?fmt=jsonp&callback=f&apikey=${KEY}&text=hello HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nReferer: http://example.org/\r\n\r\n`,
};

let service: Service;
shareService((started) => (service = started));

/**
 * Sends these bytes, in one piece or byte by byte, and reads the given number of responses, or up
 * to the end.
 */
async function exchange(
  port: number,
  bytes: Buffer,
  options: { answers?: number; slowly?: boolean } = {},
): Promise<string> {
  const { answers = 1, slowly = false } = options;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  if (slowly) {
    for (const byte of bytes) {
      socket.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
  } else socket.write(bytes);
  let received = "";
  for await (const chunk of socket) {
    received += (chunk as Buffer).toString("latin1");
    if (countAnswers(received) >= answers) break;
  }
  socket.destroy();
  return received;
}

/** Counts the complete responses in a text, except interim ones (100). */
function countAnswers(text: string): number {
  let count = 0;
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return count;
    const head = rest.slice(0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (rest.length < end + 4 + length) return count;
    if (!head.startsWith("HTTP/1.1 100")) count += 1;
    rest = rest.slice(end + 4 + length);
  }
}

function bytesOf(template: string): Buffer {
  const form = FORM + (/<FORM([^>]*)>/.exec(template)?.[1] ?? "");
  const half = FORM.length >> 1;
  const chunks = [FORM.slice(0, half), FORM.slice(half), ""].map(
    (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
  );
  const text = template
    .replace(/<FORM[^>]*>/, () => form)
    .replace("<LENGTH>", String(form.length))
    .replace("<CHUNKS>", () => chunks.join(""));
  return Buffer.from(text, "latin1");
}

for (const [client, template] of Object.entries(TAKEN)) {
  test(`${client} is accepted`, async (t) => {
    const answer = await exchange(service.post?.port ?? 0, bytesOf(template));
    t.regex(answer, /^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 201 Created\r\n/);
    t.regex(answer, /[{(]"id":"[0-9a-f]{24}"\}/);
  });
}

for (const client of ["curl -d", "a form in chunks"]) {
  test(`${client} is accepted byte by byte too`, async (t) => {
    const answer = await exchange(service.post?.port ?? 0, bytesOf(TAKEN[client] ?? ""), { slowly: true });
    t.regex(answer, /^HTTP\/1\.1 201 Created\r\n/);
  });
}

test("three pipelined posts on one connection are answered in order", async (t) => {
  const post = bytesOf(TAKEN["curl -d"] ?? "");
  const last = bytesOf(TAKEN["Python's urllib"] ?? "");
  const answer = await exchange(service.post?.port ?? 0, Buffer.concat([post, post, last]), { answers: 3 });
  const ids = [...answer.matchAll(/"id":"([0-9a-f]{24})"/g)].map(([, id = ""]) => id);
  t.is(ids.length, 3);
  t.deepEqual(ids, ids.toSorted());
});

test("a connection is kept alive or closed as the client asks", async (t) => {
  t.regex(await exchange(service.post?.port ?? 0, bytesOf(TAKEN["curl -d"] ?? "")), /\r\nConnection: keep-alive\r\n/);
  t.regex(
    await exchange(service.post?.port ?? 0, bytesOf(TAKEN["Python's urllib"] ?? "")),
    /\r\nConnection: close\r\n/,
  );
});

test("a request of HTTP/1.1 without Host is refused at the posting address like any error", async (t) => {
  const answer = await exchange(
    service.post?.port ?? 0,
    Buffer.from(`POST /1/logs/${LOG}/events HTTP/1.1\r\nContent-Length: 0\r\n\r\n`),
  );
  t.regex(answer, /^HTTP\/1\.1 400 .*"code":"bad_request","message":"The header Host/s);
});

/** Requests to the API: one that creates a log, and those that read it. */
const FORM_OF_LOG = "display=A+log&key=";
const READS: Readonly<Record<string, string>> = {
  "HTTP/1.0": `GET /1/logs HTTP/1.0\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
  "a scheme in small letters": `GET /1/logs HTTP/1.1\r\nHost: a\r\nAuthorization: ${AUTHORIZATION.replace("Basic", "basic")}\r\n\r\n`,
  "an absolute address": `GET http://a/1/logs HTTP/1.1\r\nHost: a\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
  "an upgrade to HTTP/2": `GET /1/logs HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`,
  "a body with the pair, of curl -X GET -d": `GET /1/logs HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: <PAIR>`,
};

for (const [client, template] of Object.entries(READS)) {
  test(`the API reads: ${client} is accepted`, async (t) => {
    const pair = `${ADMIN.email}:${ADMIN.password}`;
    const bytes = template.replace("<PAIR>", `${pair.length}\r\n\r\n${pair}`);
    const answer = await exchange(service.api?.port ?? 0, Buffer.from(bytes));
    t.regex(answer, /^HTTP\/1\.1 200 OK\r\n/);
    t.true(answer.includes(`{"key":"${LOG}"`), answer);
  });
}

for (const [client, headers, body] of [
  ["a form in chunks", "Transfer-Encoding: chunked", (key: string) => `1b\r\n${FORM_OF_LOG}${key}\r\n0\r\n\r\n`],
  ["a form without a type", "Content-Length: 27", (key: string) => `${FORM_OF_LOG}${key}`],
  ["a form behind Expect", "Expect: 100-continue\r\nContent-Length: 27", (key: string) => `${FORM_OF_LOG}${key}`],
] as const) {
  test(`the API creates a log: ${client} is accepted`, async (t) => {
    const key = `log${Math.floor(100_000 + Math.random() * 900_000)}`;
    const head = `POST /1/logs HTTP/1.1\r\nHost: a\r\nAuthorization: ${AUTHORIZATION}\r\n${headers}\r\n\r\n`;
    const answer = await exchange(service.api?.port ?? 0, Buffer.from(head + body(key)));
    t.regex(answer, /^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 201 Created\r\n/);
    t.true(answer.includes(`Location: /1/logs/${key}\r\n`), answer);
  });
}

for (const path of ["/1/../manage/1/accounts", "/1/%2E%2e/manage/1/accounts", "/1/./logs", "/manage/1/.."]) {
  test(`${path} is not normalized and is 404`, async (t) => {
    const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`;
    const answer = await exchange(service.api?.port ?? 0, Buffer.from(request));
    t.regex(answer, /^HTTP\/1\.1 404 Not Found\r\n[\s\S]*"path_not_found"/);
  });
}
