import test from "ava";

import { LoggiaError } from "../../../src/errors.ts";
import { readFieldChoice } from "../../../src/ingest/kit/choice.ts";
import { decodeJournal, EntrySplitter } from "../../../src/ingest/protocols/journald/decode.ts";
import { resultOf } from "../../support/steps.ts";
import { entryOf } from "../../producers/journal-tools.ts";
import { serviceOf } from "../../support/service.ts";
import { eventsOf, send } from "../posting.ts";

const CHOICE = readFieldChoice(new URLSearchParams(), {});

function entry(n: number, fields: Record<string, string | Buffer> = {}): Buffer {
  return Buffer.concat([Buffer.from(`__CURSOR=s=1;i=${n}\n`), entryOf(n, { MESSAGE: `entry ${n}`, ...fields })]);
}

test("entries become events, with fields of any bytes and several values", async (t) => {
  const service = await serviceOf(t, "embedded");
  const body = Buffer.concat([
    entry(0, { MESSAGE: "two\n\nlines", PRIORITY: "3", SYSLOG_IDENTIFIER: "app", _HOSTNAME: "box" }),
    entry(1, { MESSAGE: Buffer.from([0x61, 0, 0xff]), _COMM: "sh", TEXT: "=a=b" }),
    Buffer.from("__CURSOR=s=1;i=2\nX=1\nX=2\nMESSAGE=no end"),
    Buffer.from("\n\n\n\n"),
  ]);
  const { status, text } = await send(service, "/upload", body, {
    headers: { "Content-Type": "application/vnd.fdo.journal" },
  });
  t.is(status, 202, text);
  t.is(text, "OK.\n");
  const events = new Map((await eventsOf(service, 3)).map((event) => [event.text, event]));
  t.like(events.get("two\n\nlines"), { source: "app", tags: ["error"], created: "/Date(1767323045678)/" });
  t.like(events.get("two\n\nlines")?.attributes, { PRIORITY: "3", _HOSTNAME: "box", time_ns: "1767323045678901000" });
  t.like(events.get("a\0ÿ"), { source: "sh", tags: [] });
  t.is(events.get("a\0ÿ")?.attributes?.["TEXT"], "=a=b");
  t.deepEqual(events.get("no end")?.attributes?.["X"], ["1", "2"]);
});

test("an upload of any length is accepted, and repeated entries are recognized by their cursor", async (t) => {
  const service = await serviceOf(t, "embedded");
  const many = Buffer.concat(Array.from({ length: 7_500 }, (_, n) => entry(n, { PAD: "x".repeat(1_000) })));
  t.is((await send(service, "/upload", many)).status, 202);
  t.is((await send(service, "/upload", many)).status, 202);
  const other = Buffer.concat([entry(7_499), entry(7_500)]);
  t.is((await send(service, "/upload", other)).status, 202);
  const events = await eventsOf(service, 7_501);
  t.is(new Set(events.map(({ text }) => text)).size, 7_501);
  t.is(events.length, 7_501);
});

test("a malformed journal is refused, and the entries before the fault are stored once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const long = Buffer.alloc(8);
  long.writeBigUInt64LE(1n << 60n);
  const faults: readonly (readonly [string, Buffer])[] = [
    ["no name", Buffer.from("=x\n\n")],
    ["a name of other characters", Buffer.from("A B=x\n\n")],
    ["a length beyond all bounds", Buffer.concat([Buffer.from("MESSAGE\n"), long, Buffer.from("x\n\n")])],
    ["a value that ends elsewhere", Buffer.from("MESSAGE\n\u0001\0\0\0\0\0\0\0ab\n\n")],
    ["an end within a field", Buffer.from("MESSAGE=a\n\nMESS")],
  ];
  for (const [name, body] of faults) {
    const { status, text } = await send(service, "/upload", body);
    t.is(status, 400, name);
    t.regex(text, /not in journald's export format/, name);
  }
  const broken = Buffer.concat([...Array.from({ length: 1_000 }, (_, n) => entry(n)), Buffer.from("=\n\n")]);
  t.is((await send(service, "/upload", broken)).status, 400);
  t.is((await send(service, "/upload", broken)).status, 400);
  t.is((await eventsOf(service, 1_000)).length, 1_000);
  t.is((await send(service, "/upload", "x", { headers: { Authorization: "Bearer wrong" } })).status, 401);
});

test("entries are split at the same places, however the bytes arrive", (t) => {
  const body = Buffer.concat(Array.from({ length: 20 }, (_, n) => entry(n, { BINARY: Buffer.from("a\n\nb") })));
  const whole = resultOf(new EntrySplitter().split(body, 7));
  t.is(whole.count, 7);
  const resumed = new EntrySplitter();
  for (let size = 0; size <= body.length; size += 1) {
    const { count, end } = resultOf(new EntrySplitter().split(body.subarray(0, size), 7));
    t.deepEqual(resultOf(resumed.split(body.subarray(0, size), 7)), { count, end });
    t.true(count <= 7 && end <= size);
    if (count === 7) t.is(end, whole.end);
    t.is([...decodeJournal(body.subarray(0, end), CHOICE)].length, count);
  }
  const error = t.throws(() => [...decodeJournal(body.subarray(0, -3), CHOICE)], { instanceOf: LoggiaError });
  t.is(error?.code, "bad_body");
});
