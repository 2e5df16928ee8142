import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { eventWriter, type EventOptions, lineReader } from "../../src/cli/ship/events.ts";
import { FormatHint } from "../../src/cli/ship/format-hint.ts";
import { FORMAT_NAMES } from "../../src/cli/ship/formats.ts";
import { frame, PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { startOf } from "../../src/cli/ship/pieces.ts";
import { readTimeOptions } from "../../src/cli/ship/times.ts";
import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { rows, run, shipTo } from "./ship-runs.ts";

type Event = Record<string, unknown>;

/** Reads lines as `loggia ship --format` does on a machine in UTC. */
function read(format: string, lines: string, more: Partial<EventOptions> = {}): Event[] {
  const options = { cut: DEFAULT_LIMITS.text, data: DEFAULT_LIMITS.data, format, tz: "UTC", ...more };
  const reader = lineReader(options, readTimeOptions(options));
  const write = eventWriter(reader?.read ?? null, options, {
    onUntimed: (text) => {
      throw new Error(`no time in ${text}`);
    },
  });
  const { records } = frame(
    Buffer.from(lines),
    { ...PLAIN_LINES, start: startOf({ format }) },
    { encoding: "utf8", isFirst: true, isWithin: false, flush: "all", isHoleClosed: true, mostRecords: 100 },
  );
  return records.flatMap(({ text }) => write(text).map((json) => JSON.parse(json) as Event));
}

function readOne(format: string, line: string, more: Partial<EventOptions> = {}): Event {
  const [event, ...others] = read(format, line, more);
  if (event === undefined || others.length > 0) throw new Error(`${others.length} more events`);
  return event;
}

test("nginx: access.log as combined and as its packages have it, and error.log", (t) => {
  const combined =
    '203.0.113.7 - ann [20/Nov/2026:10:00:00 +0100] "GET /cart?id=7 HTTP/1.1" 200 612 "https://example.org/" "Mozilla/5.0 (X11; Linux x86_64)"';
  const event = {
    created: Date.UTC(2026, 10, 20, 9),
    text: "GET /cart?id=7 HTTP/1.1",
    source: "nginx",
    user: "ann",
    attributes: {
      remote_addr: "203.0.113.7",
      status: 200,
      body_bytes_sent: 612,
      http_referer: "https://example.org/",
      http_user_agent: "Mozilla/5.0 (X11; Linux x86_64)",
    },
  };
  t.deepEqual(readOne("nginx", combined), event);
  t.deepEqual(readOne("nginx", `${combined} "198.51.100.9, 10.0.0.1"`), {
    ...event,
    attributes: { ...event.attributes, http_x_forwarded_for: "198.51.100.9, 10.0.0.1" },
  });
  t.deepEqual(readOne("nginx", `${combined} "-" rt=0.004 uct="0.000"`, { source: "edge" }), {
    ...event,
    source: "edge",
    attributes: { ...event.attributes, more: 'rt=0.004 uct="0.000"' },
  });
  // A client that speaks TLS to a port of plain HTTP.
  const binary = String.raw`2001:db8::1 - - [20/Nov/2026:10:00:00 +0000] "\x16\x03\x01\x02" 400 157 "-" "-"`;
  t.deepEqual(readOne("nginx", binary), {
    created: Date.UTC(2026, 10, 20, 10),
    text: String.raw`\x16\x03\x01\x02`,
    source: "nginx",
    attributes: { remote_addr: "2001:db8::1", status: 400, body_bytes_sent: 157 },
  });
  const empty = '203.0.113.7 - - [20/Nov/2026:10:00:00 +0000] "" 400 0 "-" "-"';
  t.like(readOne("nginx", empty), { text: empty, attributes: { status: 400 } });
  const error =
    '2026/11/20 10:00:01 [error] 1234#1235: *67 open() "/srv/www/favicon.ico" failed (2: No such file or directory), client: 203.0.113.7, server: example.org, request: "GET /favicon.ico HTTP/1.1", host: "example.org"';
  for (const format of ["nginx", "nginx-error"]) {
    t.deepEqual(readOne(format, error), {
      created: Date.UTC(2026, 10, 20, 10, 0, 1),
      text: error.slice("2026/11/20 10:00:01 [error] 1234#1235: *67 ".length),
      tags: ["error"],
      source: "nginx",
      attributes: { level: "error", pid: 1234, tid: 1235, connection: 67 },
    });
  }
  const notice = "2026/11/20 10:00:00 [notice] 1#1: nginx/1.27.2";
  t.like(readOne("nginx-error", notice), { text: "nginx/1.27.2", tags: ["info"] });
});

test("Apache: common, combined, vhost_combined, and error.log of 2.2 and 2.4", (t) => {
  const common = '127.0.0.1 - frank [10/Oct/2025:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326';
  const event = {
    created: Date.UTC(2025, 9, 10, 20, 55, 36),
    text: "GET /apache_pb.gif HTTP/1.0",
    source: "apache",
    user: "frank",
    attributes: { remote_addr: "127.0.0.1", status: 200, body_bytes_sent: 2326 },
  };
  t.deepEqual(readOne("apache", common), event);
  const agent = { http_referer: "http://www.example.com/start.html", http_user_agent: String.raw`a \"b\" c` };
  const combined = String.raw`${common} "http://www.example.com/start.html" "a \"b\" c"`;
  t.deepEqual(readOne("apache", combined), { ...event, attributes: { ...event.attributes, ...agent } });
  t.deepEqual(readOne("apache", `shop.example.com:443 ${combined}`), {
    ...event,
    source: "shop.example.com",
    attributes: { ...event.attributes, ...agent, server_name: "shop.example.com", server_port: 443 },
  });
  const error =
    "[Fri Sep 09 10:42:29.902022 2025] [core:error] [pid 35708:tid 4328636416] [client 72.15.99.187:51234] File does not exist: /usr/local/apache2/htdocs/favicon.ico";
  t.deepEqual(readOne("apache", error), {
    created: Date.UTC(2025, 8, 9, 10, 42, 29, 902),
    text: "File does not exist: /usr/local/apache2/htdocs/favicon.ico",
    tags: ["error"],
    source: "apache",
    attributes: {
      client: "72.15.99.187:51234",
      level: "error",
      module: "core",
      pid: 35_708,
      tid: 4_328_636_416,
      time_ns: "1757414549902022000",
    },
  });
  const old = "[Wed Oct 11 14:32:52 2025] [notice] caught SIGTERM, shutting down";
  t.like(readOne("apache", old), { created: Date.UTC(2025, 9, 11, 14, 32, 52), tags: ["info"] });
});

test("HAProxy: httplog, tcplog, with and without syslog's header, and its other messages", (t) => {
  const http =
    '10.0.1.2:33317 [06/Feb/2026:12:14:14.655] http-in~ static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"';
  const expected = {
    created: Date.UTC(2026, 1, 6, 12, 14, 14, 655),
    text: http,
    source: "haproxy",
    attributes: {
      client_ip: "10.0.1.2",
      client_port: 33_317,
      frontend: "http-in~",
      backend: "static",
      server: "srv1",
      TR: 10,
      Tw: 0,
      Tc: 30,
      Tr: 69,
      Ta: 109,
      status: 200,
      bytes_read: 2750,
      termination_state: "----",
      actconn: 1,
      feconn: 1,
      beconn: 1,
      srv_conn: 1,
      retries: 0,
      srv_queue: 0,
      backend_queue: 0,
    },
  };
  t.deepEqual(readOne("haproxy", http), expected);
  const { attributes } = expected;
  const header = { hostname: "lb1", app_name: "haproxy", proc_id: 14_389 };
  for (const time of ["Feb  6 12:14:14", "2026-02-06T12:14:14.655123+00:00"]) {
    const event = readOne("haproxy", `${time} lb1 haproxy[14389]: ${http}`);
    t.deepEqual(event, { ...expected, attributes: { ...attributes, ...header } });
  }
  const refused =
    '2001:db8::7:33320 [06/Feb/2026:12:14:15.001] www web/<NOSRV> 0/-1/-1/-1/3 503 212 - - SC-- 2/2/0/0/0 0/0 "GET / HTTP/1.1"';
  t.like(readOne("haproxy", refused), {
    attributes: { client_ip: "2001:db8::7", server: "<NOSRV>", Tw: -1, status: 503, termination_state: "SC--" },
  });
  const tcp = "10.0.1.2:33313 [06/Feb/2026:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0";
  t.like(readOne("haproxy", tcp), {
    text: tcp,
    created: Date.UTC(2026, 1, 6, 12, 12, 51, 443),
    attributes: { Tt: 5007, bytes_read: 212, retries: 3 },
  });
  const down = "2026-02-06T12:15:00+00:00 lb1 haproxy[14389]: Server web/srv1 is DOWN, reason: Layer4 timeout";
  t.like(readOne("haproxy", down), {
    created: Date.UTC(2026, 1, 6, 12, 15),
    text: "Server web/srv1 is DOWN, reason: Layer4 timeout",
    source: "haproxy",
  });
});

test("PostgreSQL: the prefixes of the project, of Debian and of RDS, with what belongs to a message", (t) => {
  const lines = [
    "2026-11-20 10:00:00.123 UTC [17] LOG:  database system is ready to accept connections",
    '2026-11-20 10:00:01.200 CET [1234] shop@orders ERROR:  relation "stock" does not exist at character 15',
    "2026-11-20 10:00:01.200 CET [1234] shop@orders STATEMENT:  select *",
    "\tfrom stock",
    "2026-11-20 10:00:02 UTC:10.0.0.7(54321):shop@orders:[99]:FATAL:  password authentication failed",
  ];
  t.deepEqual(read("postgres", `${lines.join("\n")}\n`), [
    {
      created: Date.UTC(2026, 10, 20, 10, 0, 0, 123),
      text: "database system is ready to accept connections",
      tags: ["info"],
      source: "postgres",
      attributes: { error_severity: "LOG", pid: 17 },
    },
    {
      created: Date.UTC(2026, 10, 20, 9, 0, 1, 200),
      text: `relation "stock" does not exist at character 15\n${lines[2]}\n\tfrom stock`,
      tags: ["error"],
      source: "postgres",
      user: "shop",
      attributes: { error_severity: "ERROR", pid: 1234, dbname: "orders" },
    },
    {
      created: Date.UTC(2026, 10, 20, 10, 0, 2),
      text: "password authentication failed",
      tags: ["fatal"],
      source: "postgres",
      user: "shop",
      attributes: { error_severity: "FATAL", pid: 99, client: "10.0.0.7(54321)", dbname: "orders" },
    },
  ]);
});

test("klog: Kubernetes' components, with stacks", (t) => {
  const year = new Date(Date.now() - 2 * 86_400_000);
  const day = `${String(year.getUTCMonth() + 1).padStart(2, "0")}${String(year.getUTCDate()).padStart(2, "0")}`;
  const lines = [
    `I${day} 10:00:00.123456       1 controller.go:231] "Starting controller" name="gc"`,
    `E${day} 10:00:01.000000   12345 runtime.go:79] Observed a panic`,
    "goroutine 1 [running]:",
    "main.main()",
  ];
  const [info, error] = read("klog", `${lines.join("\n")}\n`);
  const at = (time: string): number => Date.parse(`${year.toISOString().slice(0, 10)}T${time}Z`);
  t.like(info, { created: at("10:00:00.123"), text: '"Starting controller" name="gc"', tags: ["info"] });
  t.like(info?.["attributes"], { caller: "controller.go:231", level: "I", pid: 1 });
  t.like(error, {
    created: at("10:00:01"),
    text: "Observed a panic\ngoroutine 1 [running]:\nmain.main()",
    tags: ["error"],
    attributes: { pid: 12_345 },
  });
});

test("logfmt: keys and values mean what they mean in JSON", (t) => {
  const line =
    'time="2026-11-20T10:00:00Z" level=warning msg="say \\"hi\\"\\nagain" service=till order=7 dry ratio=0.5 empty= path=/a=b';
  t.deepEqual(readOne("logfmt", line), {
    created: Date.UTC(2026, 10, 20, 10),
    text: 'say "hi"\nagain',
    tags: ["warn"],
    source: "till",
    attributes: {
      level: "warning",
      service: "till",
      order: 7,
      dry: "true",
      ratio: "0.5",
      empty: "",
      path: "/a=b",
    },
  });
  // As Heroku's router writes it.
  const router = "ts=2026-11-20T10:00:00.5Z at=info method=GET path=/ host=shop.example.org status=200 bytes=12";
  t.like(readOne("logfmt", router), { created: Date.UTC(2026, 10, 20, 10, 0, 0, 500), text: router });
});

test("syslog: the files of rsyslog and syslog-ng", (t) => {
  const expected = {
    created: Date.UTC(2026, 10, 20, 9, 0, 0, 123),
    text: "Accepted publickey for ann from 203.0.113.7 port 51234",
    source: "sshd",
    attributes: { app_name: "sshd", hostname: "web1", proc_id: 1234, time_ns: "1795165200123456000" },
  };
  const message = `web1 sshd[1234]: ${expected.text}`;
  t.deepEqual(readOne("syslog", `2026-11-20T10:00:00.123456+01:00 ${message}`), expected);
  const past = new Date(Date.now() - 3 * 86_400_000);
  const month = past.toUTCString().split(" ")[2]!;
  const bsd = `${month} ${String(past.getUTCDate()).padStart(2)} 10:00:00`;
  t.like(readOne("syslog", `${bsd} ${message}`), {
    created: Date.parse(`${past.toISOString().slice(0, 10)}T10:00:00Z`),
    text: expected.text,
    source: "sshd",
  });
  t.like(readOne("syslog", "2026-11-20T10:00:00Z web1 kernel: [    1.5] eth0: link up"), {
    text: "[    1.5] eth0: link up",
    source: "kernel",
  });
  t.like(readOne("syslog", "2026-11-20T10:00:00Z web1 last message repeated 2 times"), {
    text: "last message repeated 2 times",
    source: "web1",
  });
  t.like(readOne("syslog", `2026-11-20T10:00:00Z web1 till[1]: {"level":"warn","msg":"retry"}`, { json: true }), {
    text: "retry",
    tags: ["warn"],
    source: "till",
  });
});

test("lines of another form are posted as they are, by every format", (t) => {
  for (const format of FORMAT_NAMES.filter((name) => name !== "cri")) {
    const reader = lineReader({ format, cut: 8_000, data: 8_000 });
    t.is(reader?.read("at shop.Cart.pay(Cart.java:17)") ?? null, null, format);
    t.regex(reader?.fault ?? "", new RegExp(`^--format ${format} matched none of$`));
  }
  t.throws(() => lineReader({ format: "nginx", pattern: "(?<text>.*)", cut: 0, data: 1 }), {
    message: "--pattern and --format exclude each other",
  });
});

const ACCESS = '127.0.0.1 - - [10/Oct/2025:13:55:36 -0700] "GET / HTTP/1.0" 200 2326 "-" "curl/8.5.0"';

test("the format that fits lines is suggested once, whatever one line of five is", (t) => {
  const hintsFor = (lines: readonly string[], words: readonly string[] = ["/var/log/app"]): string[] => {
    const notes: string[] = [];
    const hint = new FormatHint(words, (text) => notes.push(text));
    const write = hint.watch((line) => [line]);
    for (const line of lines) t.deepEqual(write(line), [line]);
    hint.end();
    return notes.map((note) => /; --format (\S+) fits them/.exec(note)?.[1] ?? note);
  };
  const of = (line: string): string[] => hintsFor(Array.from({ length: 12 }, () => line));
  t.deepEqual(of(ACCESS), ["nginx"]);
  t.deepEqual(hintsFor([ACCESS], ["/var/log/apache2/access.log"]), ["apache"]);
  t.deepEqual(of("2026/11/20 10:00:00 [notice] 1#1: nginx/1.27.2"), ["nginx"]);
  t.deepEqual(of("2026-11-20T10:00:00.1Z stdout F ready"), ["cri"]);
  t.deepEqual(of("2026-11-20 10:00:00.123 UTC [17] LOG:  ready"), ["postgres"]);
  t.deepEqual(of("I1120 10:00:00.123456       1 a.go:231] ready"), ["klog"]);
  t.deepEqual(of("Nov 20 10:00:00 web1 sshd[1]: ready"), ["syslog"]);
  t.deepEqual(of("Nov 20 10:00:00 lb1 haproxy[1]: 10.0.1.2:33313 [06/Feb/2026:12:12:51.443] f b/s 0/0/5007 212 -- 0/0/0/0/3 0/0"), ["haproxy"]); // prettier-ignore
  t.deepEqual(of('ts=2026-11-20T10:00:00Z level=info msg="a b"'), ["logfmt"]);
  const trace = ["E1120 10:00:00.123456 1 a.go:2] panic", "goroutine 1"];
  t.deepEqual(hintsFor(trace), ["klog"]);
  for (const other of [
    "plain text",
    "a=1",
    '{"msg":"a"}',
    '{"log":"a\\n","stream":"stdout"}',
    "2026-11-20 10:00:00 ready",
  ])
    t.deepEqual(of(other), []);
  t.deepEqual(hintsFor([ACCESS, "a", "b", ACCESS, ACCESS]), []);
  t.deepEqual(hintsFor([]), []);
});

test("a folder of nginx is posted by its format, and without it the run names the format", async (t) => {
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "access.log"), `${ACCESS}\n`);
  writeFileSync(join(folder, "error.log"), "2026/11/20 10:00:00 [error] 1#2: *3 upstream timed out\n");
  const plain = await run(shipTo(service.postUrl, folder));
  t.is(plain.out, "posted 2, failed 0, retried 0\n");
  t.is(plain.err, "loggia: lines are posted as they are; --format nginx fits them and reads their time and fields\n");
  t.is(plain.code, 0);
  const read = await run(shipTo(service.postUrl, "--format", "nginx", folder));
  t.deepEqual([read.out, read.err], ["posted 2, failed 0, retried 0\n", ""]);
  const texts = (await rows(service, 4)).map(({ text, source, tags }) => [text, source, ...tags]);
  t.true(texts.some(([text, source]) => text === "GET / HTTP/1.0" && source === "nginx"));
  t.true(texts.some((event) => event.join(" ") === "upstream timed out nginx error"));
});
