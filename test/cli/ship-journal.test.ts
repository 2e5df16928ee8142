import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import test from "ava";

import { LINE_MAX_BYTES } from "../../src/cli/ship/lines.ts";
import { entryOf, journalTools, writeJournal } from "../producers/journal-tools.ts";
import { get, KEY, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

/** Posts the journal with the `journalctl` of a folder, and returns what the command prints. */
async function shipJournal(
  { postUrl }: Service,
  { path, state, ...env }: NodeJS.ProcessEnv,
  ...more: string[]
): Promise<string> {
  const words = ["ship", "--post", postUrl, "--log", LOG, "--journal", "--", ...more];
  const PATH = `${path}${delimiter}${process.env["PATH"] ?? ""}`;
  const child = spawn(process.execPath, [LOGGIA, ...words], {
    env: { ...process.env, ...env, PATH, LOGGIA_KEY: KEY, XDG_STATE_HOME: state },
  });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (out += text));
  await new Promise((resolve) => child.once("close", resolve));
  return out;
}

test("the journal is read from the position of the previous run, with the fields of its entries", async (t) => {
  const tools = await journalTools();
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  const journal = join(folder, "a.journal");
  const ship = (): Promise<string> =>
    shipJournal(service, { ...tools.env, path: tools.bin, state: join(folder, "state") }, `--file=${journal}`);
  const many = Array.from({ length: 300 }, (_, n) => entryOf(n, { MESSAGE: `entry ${n}`, PRIORITY: "6" }));
  await writeJournal(tools, journal, Buffer.concat(many));
  t.is(await ship(), "posted 300, failed 0, retried 0\n");
  const more = [
    entryOf(301, { MESSAGE: "two\nlines", PRIORITY: "3", SYSLOG_IDENTIFIER: "app", _PID: "17" }),
    entryOf(302, { MESSAGE: Buffer.from("a\0caf\xe9", "latin1"), PRIORITY: "4" }),
    // A field that an entry has several times.
    Buffer.concat([entryOf(303, { MESSAGE: "three" }).subarray(0, -1), Buffer.from("MESSAGE=times\nMESSAGE=told\n\n")]),
  ];
  await writeJournal(tools, journal, Buffer.concat(more));
  t.is(await ship(), "posted 3, failed 0, retried 0\n");
  t.is(await ship(), "posted 0, failed 0, retried 0\n");
  const last = await until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true&pagesize=500`);
      const events = body as Record<string, unknown>[];
      return events.length >= 303 ? events : null;
    },
    { what: "303 events" },
  );
  t.is(last.length, 303);
  t.like(last[300], {
    text: "two\nlines",
    tags: ["error"],
    source: "app",
    created: "/Date(1767323045979)/",
  });
  t.like(last[300]?.["attributes"], { PRIORITY: "3", SYSLOG_IDENTIFIER: "app", _PID: "17" });
  t.like(last[301], { text: "a\0café", tags: ["warn"] });
  t.like(last[302], { text: "three" });
  t.like(last[302]?.["attributes"], { MESSAGE: ["times", "told"] });
});

test("the message of an entry above the limit of a line is kept, and so are fields before the cut", async (t) => {
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  const rest = "x".repeat(LINE_MAX_BYTES);
  const begin =
    '{"__CURSOR":"c","PRIORITY":"3", "SYSLOG_IDENTIFIER" : "app","_GONE":null,"__REALTIME_TIMESTAMP":"1767323045678901"';
  const bytes = Array.from(Buffer.from("café", "latin1"));
  const lines = [
    `${begin},"MESSAGE":"a \\"dump\\"\\n","COREDUMP":"${rest}"}`,
    `${begin},"MESSAGE":[${bytes.join(",")}],"COREDUMP":[${"1,".repeat(LINE_MAX_BYTES)}1]}`,
    `${begin},"MESSAGE":"long ${rest}"}`,
    `${begin},"MESSAGE":[${"97,".repeat(LINE_MAX_BYTES)}97]}`,
  ];
  writeFileSync(join(folder, "entries"), `${lines.join("\n")}\n`);
  writeFileSync(join(folder, "journalctl"), `#!/bin/sh\ncat '${join(folder, "entries")}'\n`, { mode: 0o755 });
  const out = await shipJournal(service, { path: folder, state: join(folder, "state") });
  t.is(out, "posted 4, failed 0, retried 0\n");
  const events = await until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events`);
      return (body as Record<string, unknown>[]).length === 4 ? (body as Record<string, unknown>[]) : null;
    },
    { what: "4 events" },
  );
  const plain = await get(service, `/1/logs/${LOG}/events?attributes=true`);
  const [first] = plain.body as Record<string, Record<string, unknown>>[];
  t.like(first?.["attributes"], { _GONE: undefined, PRIORITY: "3" });
  for (const event of events) t.like(event, { source: "app", created: "/Date(1767323045678)/" });
  t.deepEqual(
    events.map(({ text, tags }) => [String(text).slice(0, 8), ...(tags as string[])]),
    [
      ['a "dump"', "error", "cut"],
      ["café", "error", "cut"],
      ["long xxx", "error", "cut"],
      ["aaaaaaaa", "error", "cut"],
    ],
  );
});
