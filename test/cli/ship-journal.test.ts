import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import test from "ava";

import { entryOf, journalTools, writeJournal } from "../producers/journal-tools.ts";
import { get, KEY, LOG, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const LOGGIA = new URL("../../src/cli/loggia.mjs", import.meta.url).pathname;

test("the journal is read from the position of the previous run, with the fields of its entries", async (t) => {
  const tools = await journalTools();
  const service = await serviceOf(t, "embedded");
  const folder = temporaryFolder(t);
  const journal = join(folder, "a.journal");
  const ship = async (): Promise<string> => {
    const words = ["ship", "--post", service.postUrl, "--log", LOG, "--journal", "--", `--file=${journal}`];
    const path = `${tools.bin}${delimiter}${process.env["PATH"] ?? ""}`;
    const env = { ...tools.env, PATH: path, LOGGIA_KEY: KEY, XDG_STATE_HOME: join(folder, "state") };
    const child = spawn(process.execPath, [LOGGIA, ...words], { env });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (out += text));
    await new Promise((resolve) => child.once("close", resolve));
    return out;
  };
  const many = Array.from({ length: 300 }, (_, n) => entryOf(n, { MESSAGE: `entry ${n}`, PRIORITY: "6" }));
  await writeJournal(tools, journal, Buffer.concat(many));
  t.is(await ship(), "posted 300, failed 0, retried 0\n");
  const more = [
    entryOf(301, { MESSAGE: "two\nlines", PRIORITY: "3", SYSLOG_IDENTIFIER: "app", _PID: "17" }),
    entryOf(302, { MESSAGE: Buffer.from("a\0caf\xe9", "latin1"), PRIORITY: "4" }),
  ];
  await writeJournal(tools, journal, Buffer.concat(more));
  t.is(await ship(), "posted 2, failed 0, retried 0\n");
  t.is(await ship(), "posted 0, failed 0, retried 0\n");
  const last = await until(
    async () => {
      const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true&pagesize=500`);
      const events = body as Record<string, unknown>[];
      return events.length >= 302 ? events : null;
    },
    { what: "302 events" },
  );
  t.is(last.length, 302);
  t.like(last[300], {
    text: "two\nlines",
    tags: ["error"],
    source: "app",
    created: "/Date(1767323045979)/",
  });
  t.like(last[300]?.["attributes"], { PRIORITY: "3", SYSLOG_IDENTIFIER: "app", _PID: "17" });
  t.like(last[301], { text: "a\0café", tags: ["warn"] });
});
