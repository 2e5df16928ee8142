import test from "ava";
import type { ExecutionContext } from "ava";
import { execFile, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { unpackDebian } from "../../infra/debian.ts";
import { killAfterExit } from "../../infra/engines/guard.ts";
import { freePorts } from "../../infra/engines/ports.ts";
import { connectTo, listeningService, metricOf, portOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { LOG } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const COUNT = 1_000;
/** Datagrams sent at a time: a socket's buffer does not hold all of them. */
const AT_ONCE = 50;
const START_MS = Date.UTC(2026, 10, 20);
const RSYSLOG = ["rsyslog", "libestr0", "libfastjson4", "liblognorm5"];
const SYSLOG_NG = ["syslog-ng-core", "libivykis0", "libnet1", "libwrap0", "libjson-c5", "libpcre3"];

/** Messages with every field of RFC 5424. */
function messages(): string[] {
  return Array.from({ length: COUNT }, (_, n) => {
    const time = new Date(START_MS + n).toISOString().replace("Z", "789Z");
    const head = `<${8 * 16 + (n % 8)}>1 ${time} box-${n % 3} shop 4${n} ID${n}`;
    return `${head} [order@32473 n="${n}" q="a\\"b"] order ${n} é\n`;
  });
}

const TAGS = ["fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"] as const;

/**
 * Asserts that all messages are stored with their fields.
 * @param isNew whether the client forwards structured data, message ids and microseconds
 */
async function assertAll(t: ExecutionContext, service: Service, isNew: boolean): Promise<void> {
  const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
  t.is(events.size, COUNT);
  for (let n = 0; n < COUNT; n++) {
    const event = events.get(`order ${n} é`)!;
    t.like(event, { source: "shop", tags: [TAGS[n % 8]!] });
    t.like(event.attributes, {
      hostname: `box-${n % 3}`,
      app_name: "shop",
      proc_id: Number(`4${n}`),
      facility: "local0",
    });
    if (!isNew) continue;
    t.like(event.attributes, { msg_id: `ID${n}`, "order@32473.n": String(n), "order@32473.q": 'a"b' });
    t.true(event.created.includes(String(START_MS + n)), event.created);
  }
}

type Kind = (typeof KINDS)[number];

type Client = { readonly config: (input: number, output: number, folder: string) => string; readonly isNew: boolean };

async function relay(
  t: ExecutionContext,
  kind: Kind,
  transport: "tcp" | "udp",
  client: Client,
  start: Start,
): Promise<void> {
  const service = await listeningService(t, { LOGGIA_SYSLOG: `${transport}://127.0.0.1:0/${LOG}` }, kind);
  const [input = 0] = await freePorts(1);
  const folder = temporaryFolder(t);
  const file = join(folder, "relay.conf");
  writeFileSync(file, client.config(input, portOf(service, transport), folder));
  await start(t, file, folder);
  await until(
    async () => {
      const socket = await connectTo(input).catch(() => null);
      socket?.destroy();
      return socket;
    },
    { what: "the relay to listen" },
  );
  // The server reads until the end of its input, so the connection is closed from here.
  const socket = await connectTo(input);
  await inPieces(service, transport, messages(), (piece) => void socket.write(piece));
  socket.end();
  await assertAll(t, service, client.isNew);
}

/** Sends lines: those that become datagrams in pieces, each once the one before is stored. */
async function inPieces(
  service: Service,
  transport: "tcp" | "udp",
  lines: readonly string[],
  send: (piece: string) => void | Promise<void>,
): Promise<void> {
  if (transport === "tcp") return send(lines.join(""));
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    await send(lines.slice(from, from + AT_ONCE).join(""));
    await until(async () => (await metricOf(service, "events_total", "syslog_udp")) >= from + AT_ONCE, {
      what: `${from + AT_ONCE} datagrams to be stored`,
    });
  }
}

type Start = (t: ExecutionContext, file: string, folder: string) => Promise<void>;

const startRsyslog: Start = async (t, file, folder) => {
  const unpacked = await unpackDebian(RSYSLOG);
  const modules = unpacked.file("usr/lib/x86_64-linux-gnu/rsyslog", "usr/lib/aarch64-linux-gnu/rsyslog");
  const program = unpacked.file("usr/sbin/rsyslogd");
  run(t, program, ["-n", "-f", file, "-i", join(folder, "pid"), "-M", modules], unpacked.environment);
};

const startSyslogNg: Start = async (t, file, folder) => {
  const unpacked = await unpackDebian(SYSLOG_NG);
  const modules = unpacked.file("usr/lib/syslog-ng/3.38", "usr/lib/syslog-ng/4.3", "usr/lib/syslog-ng/4.8");
  mkdirSync(join(folder, "state"));
  const state = (name: string) => join(folder, "state", name);
  const places = ["-R", state("persist"), "-p", state("pid"), "-c", state("control")];
  const options = ["-F", "--no-caps", "-f", file, `--module-path=${modules}`, ...places];
  run(t, unpacked.file("usr/sbin/syslog-ng"), options, unpacked.environment);
};

function run(
  t: ExecutionContext,
  program: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): void {
  const child = killAfterExit(
    spawn(program, words, { env: { ...env, PATH: process.env["PATH"] }, stdio: ["ignore", "pipe", "pipe"] }),
  );
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => said.push(String(text)));
  t.teardown(() => {
    if (!t.passed) t.log(said.join("").slice(0, 4_000));
    child.kill("SIGKILL");
  });
}

const rsyslogTo = (action: string, template: string) => (input: number, output: number, folder: string) => `
global(workDirectory="${folder}" maxMessageSize="64k")
module(load="imptcp")
input(type="imptcp" port="${input}" address="127.0.0.1")
*.* action(type="omfwd" target="127.0.0.1" port="${output}" template="${template}" ${action}
  action.resumeRetryCount="-1" queue.type="LinkedList" queue.size="10000")
`;

for (const kind of KINDS) {
  for (const [name, transport, client] of [
    [
      "rsyslog by TCP, counted",
      "tcp",
      {
        config: rsyslogTo('protocol="tcp" TCP_Framing="octet-counted"', "RSYSLOG_SyslogProtocol23Format"),
        isNew: true,
      },
    ],
    [
      "rsyslog by TCP, lines",
      "tcp",
      { config: rsyslogTo('protocol="tcp"', "RSYSLOG_SyslogProtocol23Format"), isNew: true },
    ],
    [
      "rsyslog by TCP, the old format",
      "tcp",
      { config: rsyslogTo('protocol="tcp"', "RSYSLOG_TraditionalForwardFormat"), isNew: false },
    ],
    ["rsyslog by UDP", "udp", { config: rsyslogTo('protocol="udp"', "RSYSLOG_SyslogProtocol23Format"), isNew: true }],
  ] as const) {
    test(`${kind}: ${name} forwards every message with its fields`, (t) =>
      relay(t, kind, transport, client, startRsyslog));
  }
}

const syslogNgTo = (destination: string) => (input: number, output: number) => `@version: 3.38
options { keep-hostname(yes); use-dns(no); frac-digits(6); ts-format(iso); time-zone("UTC"); };
source s_in { network(ip("127.0.0.1") port(${input}) flags(syslog-protocol)); };
destination d_out { ${destination.replace("PORT", String(output))}; };
log { source(s_in); destination(d_out); flags(flow-control); };
`;

for (const kind of KINDS) {
  for (const [name, transport, destination] of [
    ["counted", "tcp", 'syslog("127.0.0.1" port(PORT) transport("tcp"))'],
    ["lines", "tcp", 'network("127.0.0.1" port(PORT) transport("tcp") flags(syslog-protocol))'],
    ["UDP", "udp", 'syslog("127.0.0.1" port(PORT) transport("udp"))'],
  ] as const) {
    const client = { config: syslogNgTo(destination), isNew: true };
    test(`${kind}: syslog-ng by ${name} forwards every message with its fields`, (t) =>
      relay(t, kind, transport, client, startSyslogNg));
  }
}

test("logger sends every message with its fields", async (t) => {
  const unpacked = await unpackDebian(["bsdutils"]);
  const folder = temporaryFolder(t);
  const file = join(folder, "lines");
  const lines = Array.from({ length: COUNT }, (_, n) => `order ${n} é\n`);
  for (const [transport, form] of [
    ["tcp", ["--tcp", "--octet-count", "--rfc5424"]],
    ["tcp", ["--tcp", "--rfc5424"]],
    ["tcp", ["--tcp", "--rfc3164"]],
    ["udp", ["--udp", "--rfc5424"]],
  ] as const) {
    const service = await listeningService(t, { LOGGIA_SYSLOG: `${transport}://127.0.0.1:0/${LOG}` });
    const to = ["--server", "127.0.0.1", "--port", String(portOf(service, transport))];
    const isNew = form.includes("--rfc5424" as never);
    const fields = ["-p", "local3.err", "-t", "shop", "--id=77"];
    const more = isNew ? ["--msgid", "ID1", "--sd-id", "order@32473", "--sd-param", 'n="5"'] : [];
    const words = [...to, ...form, ...fields, ...more, "-f", file];
    await inPieces(service, transport, lines, async (piece) => {
      writeFileSync(file, piece);
      await promisify(execFile)(unpacked.file("usr/bin/logger"), words, { env: unpacked.environment });
    });
    const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
    t.is(events.size, COUNT, form.join(" "));
    for (let n = 0; n < COUNT; n++) {
      const event = events.get(`order ${n} é`)!;
      t.like(event, { source: "shop", tags: ["error"] });
      t.like(event.attributes, {
        facility: "local3",
        proc_id: 77,
        ...(isNew && { msg_id: "ID1", "order@32473.n": "5" }),
      });
    }
  }
});
