import test from "ava";

import { LOG } from "../../support/service.ts";
import { eventsOf } from "../posting.ts";
import { listeningService, metricOf, portOf, sendDatagrams, sendStream } from "./sockets.ts";

/** A line of logstash-logback-encoder. */
const LOGBACK =
  '{"@timestamp":"2026-11-20T05:00:00.123456789Z","@version":"1","message":"Order 17 failed é\\nsecond line",' +
  '"logger_name":"shop.Orders","thread_name":"main","level":"ERROR","level_value":40000,' +
  '"stack_trace":"java.lang.RuntimeException: bad\\n\\tat A.main(A.java:19)\\n","tags":["PAY"],"app":"shop",' +
  '"n":9007199254740993}';
/** A line of python-logstash-async. */
const PYTHON =
  '{"@timestamp": "2026-11-20T05:00:00.123Z", "@version": "1", "host": "vm", "level": "WARNING", "logsource": "vm", ' +
  '"message": "low on stock", "pid": 1810, "program": "till.py", "type": "python-logstash", "extra": {"n": 7}}';

test("lines of JSON and of text become events by TCP, whatever ends them", async (t) => {
  const service = await listeningService(t, { LOGGIA_LINES: `tcp://127.0.0.1:0/${LOG}?tags=net` });
  const stream = Buffer.from(`${LOGBACK}\r\n\n${PYTHON}\n{"no": json}\nplain é\n[1]\n{"a":1}`);
  await sendStream(portOf(service), stream.subarray(0, 100), stream.subarray(100));
  const events = new Map((await eventsOf(service, 6)).map((event) => [event.text, event]));
  t.deepEqual([...events.keys()].toSorted(), [
    "Order 17 failed é\nsecond line",
    "[1]",
    "low on stock",
    "plain é",
    '{"a":1}',
    '{"no": json}',
  ]);
  const logback = events.get("Order 17 failed é\nsecond line")!;
  t.deepEqual(logback.tags.toSorted(), ["PAY", "error", "net"]);
  t.is(logback.source, "shop");
  t.is(logback.created, `/Date(${Date.UTC(2026, 10, 20, 5, 0, 0, 123)})/`);
  t.like(logback.attributes, {
    logger_name: "shop.Orders",
    level_value: 40_000,
    n: "9007199254740993",
    time_ns: "1795150800123456789",
    stack_trace: "java.lang.RuntimeException: bad\n\tat A.main(A.java:19)\n",
  });
  t.like(events.get("low on stock"), { source: "till.py", tags: ["warn", "net"], attributes: { "extra.n": 7 } });
});

test("a datagram is a line, also when it holds several", async (t) => {
  const service = await listeningService(t, { LOGGIA_LINES: `udp://127.0.0.1:0/${LOG}` });
  await sendDatagrams(portOf(service, "udp"), [
    LOGBACK,
    `${JSON.stringify({ message: "pretty", n: 1 }, null, 2)}\n`,
    "first\nsecond\n",
    "\n",
  ]);
  const events = await eventsOf(service, 3);
  t.deepEqual(events.map(({ text }) => text).toSorted(), ["Order 17 failed é\nsecond line", "first\nsecond", "pretty"]);
});

test("an object that is too long is kept as text, and the next line is read", async (t) => {
  const service = await listeningService(t, { LOGGIA_LINES: `tcp://127.0.0.1:0/${LOG}` });
  await sendStream(portOf(service), `{"message":"${"y".repeat(2_000_000)}"}\n{"message":"after"}\n`);
  const events = await eventsOf(service, 2);
  t.true(events.some(({ text }) => text === "after"));
  const cut = events.find(({ text }) => text.startsWith('{"message":"yyy'))!;
  t.true(cut.tags.includes("cut"));
  t.is(await metricOf(service, "malformed_total", "lines_tcp"), 1);
});

test("an address without a log is refused at the start", async (t) => {
  const error = await t.throwsAsync(() => listeningService(t, { LOGGIA_LINES: "tcp://127.0.0.1:0" }));
  t.regex(error.message, /^LOGGIA_LINES holds "tcp:\/\/127\.0\.0\.1:0"; allowed: the key of a log after the port/);
});
