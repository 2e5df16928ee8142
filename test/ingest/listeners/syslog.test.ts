import test from "ava";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

import { StartError } from "../../../src/errors.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { dataOf, eventsOf } from "../posting.ts";
import { environmentOf, LOG, startService } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { bestOf_ms } from "../../support/turns.ts";
import { until } from "../../support/until.ts";
import { connectTo, listeningService, metricOf, portOf, sendDatagrams, sendStream } from "./sockets.ts";

test("messages of every format become events, by TCP and UDP", async (t) => {
  const service = await listeningService(t, {
    LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}?tags=net, udp://127.0.0.1:0/${LOG}?zone=2`,
  });
  await sendStream(
    portOf(service),
    '<11>1 2026-11-20T10:00:00.5Z box shop 7 ID1 [a@1 b="c"] by TCP\n18 <11>counted\nin two\n<1',
    "9>no end",
  );
  await sendDatagrams(portOf(service, "udp"), ["<14>Nov 20 10:00:00 box shop: by UDP\n", "nothing to read", "\n"]);
  const events = new Map((await eventsOf(service, 5)).map((event) => [event.text, event]));
  t.deepEqual([...events.keys()].toSorted(), ["by TCP", "by UDP", "counted\nin two", "no end", "nothing to read"]);
  const tcp = events.get("by TCP")!;
  t.like(tcp, { source: "shop", tags: ["error", "net"] });
  t.regex(tcp.created, new RegExp(String(Date.UTC(2026, 10, 20, 10, 0, 0, 500))));
  t.deepEqual(tcp.attributes, {
    "a@1.b": "c",
    hostname: "box",
    app_name: "shop",
    proc_id: 7,
    msg_id: "ID1",
    facility: "user",
    severity: "err",
  });
  const udp = events.get("by UDP")!;
  t.like(udp, { source: "shop", tags: ["info"] });
  t.regex(udp.created, new RegExp(String(Date.UTC(2026, 10, 20, 8))), "in its zone");
  t.is(await metricOf(service, "events_total", "syslog_tcp"), 3);
  await until(async () => (await metricOf(service, "events_total", "syslog_udp")) === 2 || null, {
    what: "the count of the datagrams",
  });
});

test("a message that is cut amid a character stays UTF-8", async (t) => {
  const service = await listeningService(t, { LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}, udp://127.0.0.1:0/${LOG}` });
  const cut = Buffer.from("<13>Nov 20 10:00:00 h a: Größe überschritten €").subarray(0, -1);
  await sendDatagrams(portOf(service, "udp"), [cut]);
  // Three lengths of header, so that the limit falls on each byte of a character.
  for (const n of [1, 2, 3]) await sendStream(portOf(service), `<11>${"x".repeat(n)}${"志".repeat(30_000)}\n`);
  const events = await eventsOf(service, 4);
  t.is(events.filter(({ text }) => text === "Größe überschritten \ufffd").length, 1);
  for (const { id, text } of events.filter(({ text }) => text.startsWith("x"))) {
    t.regex(text, /^x+志+$/);
    t.regex(await dataOf(service, id), /^x+志+\ufffd?$/);
  }
});

test("a message above the limit is cut, marked and counted", async (t) => {
  const service = await listeningService(t, { LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}` });
  await sendStream(portOf(service), `<11>${"é".repeat(9_000)}\n`, `<11>${"y".repeat(1_000_000)}\n`, "<11>after\n");
  const events = await eventsOf(service, 3);
  for (const event of events.filter(({ text }) => text !== "after")) {
    t.is([...event.text].length, DEFAULT_LIMITS.text);
    t.deepEqual([...event.tags].toSorted(), ["cut", "error"]);
    const data = await dataOf(service, event.id);
    t.true(data.startsWith(event.text));
    t.is(data.length, data.startsWith("é") ? 9_000 : DEFAULT_LIMITS.data);
  }
  t.is(events.filter(({ text }) => text === "after").length, 1);
  t.is(await metricOf(service, "cut_total", "syslog_tcp"), 2);
});

test("a key in structured data selects the log if the address has no route", async (t) => {
  const service = await listeningService(t, { LOGGIA_SYSLOG: "tcp://127.0.0.1:0 udp://127.0.0.1:0" });
  const log = parseLogKey(LOG)!;
  const { secret } = await service.ports.catalog.createApiKey(log, "write-only");
  const reading = await service.ports.catalog.createApiKey(log, "read-only");
  await service.ports.catalog.refresh();
  const message = (key: string, text: string) => `<11>1 - h a - - [loggia@32473 key="${key}"] ${text}\n`;
  const stream = message(secret, "one") + message("wrong key", "two") + message(reading.secret, "three") + "<11>four\n";
  await sendStream(portOf(service), stream + message(secret, "five"));
  await sendDatagrams(portOf(service, "udp"), [message(secret, "six"), message("wrong key", "seven")]);
  t.deepEqual((await eventsOf(service, 3)).map(({ text }) => text).toSorted(), ["five", "one", "six"]);
  t.is(await metricOf(service, "refused_total", "syslog_tcp"), 3);
  await until(async () => (await metricOf(service, "refused_total", "syslog_udp")) === 1 || null, {
    what: "a refusal",
  });
});

test("addresses are routed to logs, and those without a log are refused", async (t) => {
  const settings = `tcp://127.0.0.1:0/${LOG}?from=10.0.0.0/8 tcp://127.0.0.1:0/${LOG}?from=127.0.0.0/8&tags=local`;
  const service = await listeningService(t, { LOGGIA_SYSLOG: settings });
  t.is(service.listeners.length, 1, "one socket for both");
  await sendStream(portOf(service), "<11>x\n");
  t.deepEqual((await eventsOf(service, 1))[0]!.tags, ["error", "local"]);
  const closed = await listeningService(t, { LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}?from=10.0.0.0/8` });
  await sendStream(portOf(closed), "<11>x\n").catch(() => {});
  t.is(await metricOf(closed, "refused_total", "syslog_tcp"), 1);
});

test("invalid settings stop startup with one line", async (t) => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ["tcp://127.0.0.1:0/nothing-there", /^LOGGIA_SYSLOG names the log nothing-there/],
    ["http://127.0.0.1:0/first", /^LOGGIA_SYSLOG holds "http:.*begin with tcp:\/\/ or udp:\/\/$/],
    ["tcp://127.0.0.1/first", /^LOGGIA_SYSLOG is "127.0.0.1"/],
    ["tcp://127.0.0.1:0/first?form=10.0.0.0/8", /the parameters from, tags, zone, year, json$/],
    ["tcp://127.0.0.1:0/first?from=10.0.0.0/33", /addresses and networks/],
    ["tcp://127.0.0.1:0/first?zone=Nowhere", /a zone such as/],
    ["tcp://127.0.0.1:0/first?json=yes", /json=on or json=off/],
    ["tcp://127.0.0.1:0/first?year=5", /a year such as/],
    ["tcp://127.0.0.1:0/bookmarks", /the key of a log/],
    ["tcp://192.0.2.1:5140/first", /^syslog can't listen on 192.0.2.1:5140: the host is not an address/],
    ["udp://192.0.2.1:5140/first", /^syslog can't listen on 192.0.2.1:5140: the host is not an address/],
  ];
  for (const [value, message] of wrong) {
    const environment = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_SYSLOG: value };
    await t.throwsAsync(startService(environment), { instanceOf: StartError, message }, value);
  }
});

test("messages read before shutdown are stored, with clients still connected", async (t) => {
  const environment = {
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG},udp://127.0.0.1:0/${LOG}`,
  };
  const service = await startService(environment);
  const socket = await connectTo(portOf(service));
  socket.resume();
  const lines = Array.from({ length: 9_000 }, (_, i) => `<11>line ${i}\n`).join("");
  await new Promise<void>((resolve) => socket.write(`${lines}<11>without its end`, () => resolve()));
  const closing = service.close();
  await once(socket, "end");
  socket.end();
  await closing;
  const again = await startService(environment);
  t.teardown(() => again.close());
  const texts = new Set((await eventsOf(again, 9_001)).map(({ text }) => text));
  t.is(texts.size, 9_001);
  t.true(texts.has("without its end"));
});

test("a client that keeps sending is disconnected at shutdown", async (t) => {
  const took_ms = await bestOf_ms(8_000, async () => {
    const service = await startService({
      ...environmentOf("embedded", temporaryFolder(t)),
      LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}`,
    });
    const socket = await connectTo(portOf(service));
    socket.resume();
    const timer = setInterval(() => socket.write("<11>more\n"), 1);
    await sleep(100);
    const began_ms = performance.now();
    await service.close();
    const took_ms = performance.now() - began_ms;
    clearInterval(timer);
    return took_ms;
  });
  t.true(took_ms < 8_000, `${took_ms} ms`);
});
