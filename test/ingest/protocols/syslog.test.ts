import test from "ava";

import { SyslogDecoder } from "../../../src/ingest/protocols/syslog/decode.ts";
import { parseZone, UTC } from "../../../src/query/zone.ts";

const NOW_MS = Date.UTC(2026, 10, 26, 12);

function read(line: string | Buffer, options: Partial<ConstructorParameters<typeof SyslogDecoder>[0]> = {}) {
  const decoder = new SyslogDecoder({ zone: UTC, year: null, json: false, ...options });
  const { event, secret } = decoder.read(Buffer.from(line as string), false, NOW_MS);
  const { attributes, time, ...rest } = event;
  const created = time === null ? null : new Date(time.ms).toISOString();
  return { ...rest, created, ns: time?.ns ?? 0, secret, attributes: Object.fromEntries(attributes) };
}

test("parses RFC 5424 with all of its fields", (t) => {
  const line =
    '<165>1 2003-10-11T22:14:15.003123Z mymachine.example.com evntslog 42 ID47 [exampleSDID@32473 iut="3" ' +
    'eventSource="App\\"lic\\]at\\\\ion\\n" eventID="1011"][x@1 empty="" a="1" a="2"] \ufeffAn é event';
  const event = read(line);
  t.like(event, { text: "An é event", severity: "info", source: "evntslog", created: "2003-10-11T22:14:15.003Z" });
  t.is(event.ns, 123_000);
  t.deepEqual(event.attributes, {
    "exampleSDID@32473.iut": "3",
    "exampleSDID@32473.eventSource": 'App"lic]at\\ion\\n',
    "exampleSDID@32473.eventID": "1011",
    "x@1.empty": "",
    "x@1.a": ["1", "2"],
    hostname: "mymachine.example.com",
    app_name: "evntslog",
    proc_id: 42,
    msg_id: "ID47",
    facility: "local4",
    severity: "notice",
  });
});

test("parses RFC 5424 without its optional fields", (t) => {
  const event = read("<34>1 - - - - - -");
  t.like(event, { text: "", severity: "fatal", source: "", created: null });
  t.deepEqual(event.attributes, { facility: "auth", severity: "crit" });
  t.is(read("<34>1 - host - - - - ").source, "host");
  t.is(read('<34>1 - h a - - [m v="1"]').text, "", "Telegraf sends structured data alone");
  t.is(read("<34>1 2026-11-26T10:00:00.5+02:00 h a - - - x").created, "2026-11-26T08:00:00.500Z");
  t.is(read("<34>1 2026-11-26T10:00:26.36Z h a - - - x").created, "2026-11-26T10:00:26.360Z");
});

test("parses RFC 3164 and its variants", (t) => {
  const cases: readonly (readonly [string, object, Record<string, string | number | undefined>])[] = [
    [
      "<34>Oct 11 22:14:15 mymachine su[99]: 'su root' failed",
      { text: "'su root' failed", severity: "fatal", source: "su", created: "2026-10-11T22:14:15.000Z" },
      { hostname: "mymachine", app_name: "su", proc_id: 99, facility: "auth", severity: "crit" },
    ],
    ["<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!", { text: "Use the BFG!", source: "10.0.0.99" }, {}],
    ["<13>Feb  5 17:32:18 app: no host", { text: "no host", source: "app" }, { app_name: "app" }],
    ["<13>Feb  5 17:32:18 su(pam_unix)[7]: x", { text: "x", source: "su(pam_unix)" }, { proc_id: 7 }],
    ["<30>2026-11-26T02:06:24.123456+02:00 box app[1]: iso", { text: "iso", created: "2026-11-26T00:06:24.123Z" }, {}],
    ["<13>Nov 26 2025 10:00:00 box app: y", { created: "2025-11-26T10:00:00.000Z", source: "app" }, {}],
    ["<13>Nov 26 2025 10:00:00 - app: y", { text: "y", source: "app" }, { hostname: undefined, app_name: "app" }],
    ["<13>Nov 26 2025 10:00:00 - y", { text: "y", source: "" }, { hostname: undefined }],
    ["<13>Nov 26 10:00:00 2024 box app: y", { created: "2024-11-26T10:00:00.000Z", source: "app" }, {}],
    ["<13>Nov 20 12:00:00  myhost app[1]: z", { source: "app", text: "z" }, { hostname: "myhost", proc_id: 1 }],
    ["<13>Nov 26 10:00:00 CRON: z", { source: "CRON", text: "z", created: "2026-11-26T10:00:00.000Z" }, {}],
    ["<13>Feb  5 17:32:18 box shop[7] x: y", { text: "x: y", source: "shop" }, { hostname: "box", proc_id: 7 }],
    ["<13>just a message: of Python", { text: "just a message: of Python", source: "", created: null }, {}],
    ["<13>worker[12]: no time", { text: "no time", source: "worker", created: null }, { proc_id: 12 }],
    ["<29>Nov 26 10:00:00 box kernel: [12.3] eth0: up", { text: "[12.3] eth0: up", source: "kernel" }, {}],
  ];
  for (const [line, fields, attributes] of cases) {
    t.like(read(line), fields, line);
    for (const [name, value] of Object.entries(attributes)) t.is(read(line).attributes[name], value, line);
  }
});

test("a time without a year is in the last year that is not ahead, or in the configured year", (t) => {
  t.is(read("<1>Nov 27 11:00:00 h a: x").created, "2026-11-27T11:00:00.000Z", "a clock may be ahead");
  t.is(read("<1>Nov 28 00:00:00 h a: x").created, "2025-11-28T00:00:00.000Z");
  t.is(read("<1>Jan  1 00:00:00 h a: x").created, "2026-01-01T00:00:00.000Z");
  const decoder = new SyslogDecoder({ zone: UTC, year: null, json: false });
  const at = (line: string, now: string) =>
    new Date(decoder.read(Buffer.from(line), false, Date.parse(now)).event.time!.ms).toISOString();
  t.is(at("<1>Dec 31 23:59:59 h a: x", "2027-01-01T00:00:05Z"), "2026-12-31T23:59:59.000Z");
  t.is(at("<1>Jan  1 00:00:01 h a: x", "2026-12-31T23:59:58Z"), "2027-01-01T00:00:01.000Z");
  t.is(read("<1>Feb 29 00:00:00 h a: x").created, "2024-02-29T00:00:00.000Z");
  t.is(read("<1>Feb 30 00:00:00 h a: x").created, null);
  t.is(read("<1>Feb 28 00:00:00 h a: x", { year: 2031 }).created, "2031-02-28T00:00:00.000Z");
  t.is(read("<1>Jun 30 12:00:00 h a: x", { zone: parseZone("Europe/Berlin") }).created, "2026-06-30T10:00:00.000Z");
  t.is(read("<1>2026-06-30T12:00:00 h a: x", { zone: parseZone("Europe/Berlin") }).created, "2026-06-30T10:00:00.000Z");
  t.is(read("<1>Nov 26 12:00:00 h a: x", { zone: parseZone("-5") }).created, "2026-11-26T17:00:00.000Z");
});

test("an unparsable message becomes the text of an event", (t) => {
  const lines = [
    "no priority",
    "<>x",
    "<999>x",
    "<192>x",
    "<1234>x",
    "< 1>x",
    "<13",
    "<34>1 not a time h a - - - x",
    "<34>1 2026-11-26T10:00:00Z",
    '<34>1 - h a - - [x y="z] broken',
    '<34>1 - h a - - [x y="z"]glued',
    "<34>1 - h a - - [] x",
    "",
  ];
  for (const line of lines) t.like(read(line), { text: line, source: "", created: null, secret: null }, line);
  t.is(read("<34>1 not a time h a - - - x").severity, "fatal", "its priority still counts");
  t.is(read(Buffer.from("<13>caf\xe9", "latin1")).text, "café", "Latin-1");
  t.is(read(Buffer.from("<13>Gr\xf6\xdfe caf\xe9", "latin1")).text, "Größe café", "Latin-1");
  const cut = Buffer.from("<13>Größe überschritten €");
  for (const bytes of [1, 2]) {
    t.is(read(cut.subarray(0, -bytes)).text, "Größe überschritten \ufffd", "UTF-8, cut amid a character");
    t.is(read(Buffer.from("<13>cost: 5 €").subarray(0, -1)).text, "cost: 5 \ufffd", "cut after its only character");
  }
  const mixed = Buffer.concat([Buffer.from("<13>Größe caf"), Buffer.from([0xe9]), Buffer.from(" €")]);
  t.is(read(mixed).text, "Größe caf\ufffd €", "one bad sequence leaves what is UTF-8");
});

test("a key in structured data is returned and is not an attribute", (t) => {
  const { secret, attributes, text } = read('<13>1 - h a - - [loggia@32473 key="lg_x" shop="7"] x');
  t.is(secret, "lg_x");
  t.is(text, "x");
  t.deepEqual(Object.keys(attributes).toSorted(), [
    "app_name",
    "facility",
    "hostname",
    "loggia@32473.shop",
    "severity",
  ]);
  t.is(read('<13>1 - h a - - [loggia apikey="k"] x').secret, "k");
  t.is(read('<13>1 - h a - - [loggia2 apikey="k"] x').secret, null);
});

test("with json=on the fields of a message that is JSON take precedence over its header", (t) => {
  const json =
    '{"level":10,"time":1795698170449,"name":"shop","hostname":"vm","user":{"name":"ann"},"msg":"Order 17","n":5}';
  for (const line of [
    `<135>1 2026-11-26T12:00:00Z box app 7 - - ${json}`,
    `<135>Nov 26 12:00:00 box app[7]: @cee: ${json}`,
  ]) {
    const event = read(line, { json: true });
    t.like(event, { text: "Order 17", severity: "trace", source: "shop", user: "ann" });
    t.is(event.created, "2026-11-26T13:02:50.449Z");
    const { n, hostname, facility, severity, proc_id } = event.attributes;
    t.deepEqual(
      { n, hostname, facility, severity, proc_id },
      { n: 5, hostname: "vm", facility: "local0", severity: "debug", proc_id: 7 },
    );
  }
  t.like(read('{"message":"a line without header","service":"till","level":"warn"}', { json: true }), {
    text: "a line without header",
    source: "till",
    severity: "warn",
  });
  const ofHost = '<11>Nov 26 12:00:00 box app: {"hostname":"vm","logger":"shop.Pay","msg":"Order 17"}';
  t.is(read(ofHost, { json: true }).source, "app", "the name of a host or a logger says less than the header");
  t.like(read('<11>{"n":5}', { json: true }), { text: '{"n":5}', severity: "error", attributes: { n: 5 } });
  for (const text of ['{"n":5', "{n}", "[5]", '@cee: {"n":5'])
    t.like(read(`<11>Nov 26 12:00:00 box app: ${text}`, { json: true }), { text, source: "app" });
  t.is(read(`<11>Nov 26 12:00:00 box app: ${json}`).text, json, "off unless set");
});

test("parses a time after a blank, as Go's srslog sends it", (t) => {
  const event = read("<11> 2026-11-26T10:24:40Z vm shop[26855]: Order 17 failed");
  t.like(event, { text: "Order 17 failed", source: "shop", created: "2026-11-26T10:24:40.000Z" });
  t.like(event.attributes, { hostname: "vm", app_name: "shop", proc_id: 26_855 });
  t.is(read("<11> no time").text, " no time");
  t.is(read("<11>  2026-11-26T10:24:40Z vm shop: two blanks").source, "");
});

test("a message behind @cee: is mapped by the names of its fields", (t) => {
  const header = "<11>1 2026-11-26T10:24:40Z vm gc 7 - - ";
  const event = read(
    `${header}@cee:{"level":"trace","service":"shop","n":12345678901234567,"time":"2026-11-26T10:24:40.5Z","message":"Order 17"}`,
  );
  t.like(event, { text: "Order 17", severity: "trace", source: "shop", created: "2026-11-26T10:24:40.500Z" });
  t.like(event.attributes, { service: "shop", n: "12345678901234567", app_name: "gc", severity: "err" });
  const bare = read(`${header}@cee: {"message":"bare"}`);
  t.like(bare, { text: "bare", severity: "error", source: "gc", created: "2026-11-26T10:24:40.000Z" });
  const alone = read('@cee: {"level":"ERROR","message":"alone","timestamp":"2026-11-26T10:24:40.5Z","extra":{"n":1}}');
  t.like(
    alone,
    { text: "alone", severity: "error", created: "2026-11-26T10:24:40.500Z" },
    "slog-syslog sends no header",
  );
  for (const text of ['@cee:{"no": json}', "@cee:[1]", '{"message":"without it"}']) {
    t.is(read(header + text).text, text);
  }
});
