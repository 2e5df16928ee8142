import test from "ava";

import { parseRequestHead } from "../../../src/http/fast-path/request-head.ts";

const head = (...lines: string[]): string =>
  ["POST /1/logs/shop/events HTTP/1.1", "Host: localhost", "Content-Length: 12", ...lines].join("\r\n");

test("reads a plain head", (t) => {
  const read = parseRequestHead(head("Content-Type:text/plain", "X-Empty:", "Connection: Keep-Alive"));
  t.is(read?.method, "POST");
  t.is(read?.target, "/1/logs/shop/events");
  t.is(read?.contentLength, 12);
  t.deepEqual(
    [...read!.headers],
    [
      ["host", "localhost"],
      ["content-length", "12"],
      ["content-type", "text/plain"],
      ["x-empty", ""],
      ["connection", "Keep-Alive"],
    ],
  );
});

test("a head that is ambiguous or changes the following bytes is not plain", (t) => {
  for (const text of [
    "",
    "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 1",
    "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1",
    "POST  / HTTP/1.1\r\nHost: a\r\nContent-Length: 1",
    "post / HTTP/1.1\r\nHost: a\r\nContent-Length: 1",
    "POST /ä HTTP/1.1\r\nHost: a\r\nContent-Length: 1",
    "\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1",
    "POST / HTTP/1.1\nHost: a\nContent-Length: 1",
    "POST / HTTP/1.1\r\nContent-Length: 1",
    "POST / HTTP/1.1\r\nHost:\r\nContent-Length: 1",
    "POST / HTTP/1.1\r\nHost: a",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999",
    head("Content-Length: 12"),
    head("Host: b"),
    head("X-Twice: a", "x-twice: b"),
    head("Transfer-Encoding: chunked"),
    head("Transfer-Encoding : chunked"),
    head(" folded: value"),
    head("X-Fold: a\r\n b"),
    head("X-Bare: a\nContent-Length: 3"),
    head("X-Return: a\rContent-Length: 3"),
    head("X-Null: \0"),
    head("X-Latin: \xe9"),
    head("No colon"),
    head(": no name"),
    head("Expect: 100-continue"),
    head("Upgrade: websocket"),
    head("Connection: close"),
    head("Connection: keep-alive, upgrade"),
    head("Content-Encoding: gzip"),
    head(...Array.from({ length: 49 }, (_, i) => `X-${i}: many`)),
  ])
    t.is(parseRequestHead(text), null, JSON.stringify(text));
});
