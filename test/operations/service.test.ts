import test from "ava";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { encodeRecord } from "../../src/events/record.ts";
import { parseLogKey } from "../../src/events/event.ts";
import * as operate from "../../src/cli/operate.ts";
import { KINDS } from "../support/engine-kinds.ts";
import {
  ADMIN,
  AUTHORIZATION,
  environmentOf,
  get,
  LOG,
  post,
  postOnce,
  serviceOf,
  startService,
} from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const DAY_MS = 86_400_000;
const log = parseLogKey(LOG)!;

function optionsOf({ apiUrl }: Service) {
  return { api: apiUrl, as: `${ADMIN.email}:${ADMIN.password}` };
}

async function total(service: Service): Promise<number> {
  const { headers } = await get(service, `/1/logs/${LOG}/events?pagesize=1&total=exact`);
  return Number(headers.get("x-total-count"));
}

async function send(service: Service, path: string, json: unknown): Promise<{ status: number; body: string }> {
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  const response = await fetch(service.apiUrl + path, { method: "POST", headers, body: JSON.stringify(json) });
  return { status: response.status, body: await response.text() };
}

for (const kind of KINDS) {
  test(`${kind}: an operator lists dead letters and redrives them`, async (t) => {
    t.timeout(240_000);
    const service = await serviceOf(t, kind);
    await service.ports.bus.append("events", [{ key: LOG, value: encodeRecord(log, ["oops", "alas"]) }]);
    const listed = async () =>
      (await operate.listDeadLetters(optionsOf(service))).value as { letters: { id: string }[] };
    const { letters } = await until(
      async () => {
        const page = await listed();
        return page.letters.length === 2 ? page : null;
      },
      { what: "two dead letters" },
    );
    const answer = await operate.listDeadLetters({ ...optionsOf(service), limit: "1" });
    t.regex(answer.text, /decode .* not a JSON object .*oops\n2 open\nThere are more: --after/);
    const first = letters[0]!.id;
    const redriven = await operate.redriveDeadLetters(optionsOf(service), [first, "123456"]);
    t.is(redriven.text, "1 sent through the pipeline again; there is no dead letter 123456");
    t.regex((await operate.redriveDeadLetters(optionsOf(service), ["all"])).text, /^[12] sent through/);
    for (const faulty of [{}, { all: true, ids: [] }, { all: false }, { ids: [1] }]) {
      t.is((await send(service, "/manage/1/deadletters/redrive", faulty)).status, 400, JSON.stringify(faulty));
    }
    for (const faulty of ["limit=0", "limit=501", "limit=x", "after=x", "state=closed"]) {
      t.is((await get(service, `/manage/1/deadletters?${faulty}`)).status, 400, faulty);
    }
  });

  test(`${kind}: an operator replays the bus`, async (t) => {
    t.timeout(240_000);
    const service = await serviceOf(t, kind);
    for (let i = 0; i < 20; i++) await postOnce(service, { text: `event ${i}` });
    await until(async () => (await total(service)) === 20, { what: "all events" });
    const { store } = service.ports;
    await store.deleteExpired({ before: new Map([[log, Date.now() + DAY_MS]]), markersBefore: null });
    await store.refresh();
    t.is(await total(service), 0);
    const old = { ...optionsOf(service), into: "old" };
    const future = new Date(Date.now() + 2 * DAY_MS).toISOString().slice(0, 10);
    t.regex((await operate.replay(old, future, process.stderr)).text, /^read 0 records/);
    t.is(await total(service), 0);
    const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
    t.regex((await operate.replay(old, yesterday, process.stderr)).text, /: 20 events and 0 visits/);
    t.is(await total(service), 20);
    for (const from of ["yesterday", "2026-13-01", "", "11/21/2026"]) {
      await t.throwsAsync(operate.replay(optionsOf(service), from, process.stderr), {
        message: /The field from must be/,
      });
    }
  });
}

test("the embedded store is not rebuilt: a replay adds missing events, and refuses to rebuild", async (t) => {
  const service = await serviceOf(t, "embedded");
  t.regex((await operate.replay(optionsOf(service), "start", process.stderr)).text, /^read 0 records/);
  await t.throwsAsync(operate.replay({ ...optionsOf(service), into: "new" }, "start", process.stderr), {
    message: /The embedded store cannot be rebuilt/,
  });
});

(KINDS.includes("cluster") ? test : test.skip)("on a cluster a replay rebuilds the store", async (t) => {
  t.timeout(240_000);
  const service = await serviceOf(t, "cluster");
  for (let i = 0; i < 20; i++) await postOnce(service, { text: `event ${i}` });
  await until(async () => (await total(service)) === 20, { what: "all events" });
  const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=1`);
  const [{ id }] = body as [{ id: string }];
  const headers = { Authorization: AUTHORIZATION };
  await fetch(`${service.apiUrl}/1/logs/${LOG}/events/${id}`, { method: "DELETE", headers });
  t.is(await total(service), 19);
  const { text } = await operate.replay(optionsOf(service), "start", process.stderr);
  t.regex(text, /^rebuilt from the bus {7}20$/m);
  t.regex(text, /^markers of deletions kept {2}1$/m);
  t.is(await total(service), 19);
  t.is((await send(service, "/manage/1/replay", { from: "start", into: "other" })).status, 400);
});

test("an operator backs up a running service and starts another from the copy", async (t) => {
  t.timeout(240_000);
  const folder = temporaryFolder(t);
  const environment = environmentOf("embedded", join(folder, "data"));
  const service = await startService(environment);
  t.teardown(() => service.close());
  for (let i = 0; i < 20; i++) t.is((await post(service, { text: `event ${i}` })).status, 201);
  const to = join(folder, "copy");
  const { text } = await operate.backup(optionsOf(service), to, process.stderr);
  t.regex(text, /^copied events\.duckdb.*, bus\.sqlite, catalog\.sqlite.* to \//);
  await t.throwsAsync(operate.backup(optionsOf(service), to, process.stderr), { message: /is not empty/ });
  t.is((await send(service, "/manage/1/backup", { to: "relative" })).status, 400);
  await t.throwsAsync(operate.restoreBackup(to, environment), { name: "StartError", message: /A service is running/ });

  const restored = { ...environment, LOGGIA_DATA: join(folder, "restored") };
  t.regex(await operate.restoreBackup(to, restored), /^restored events\.duckdb/);
  const again = await startService(restored);
  t.teardown(() => again.close());
  await until(async () => (await total(again)) === 20, { what: "all events in the restored service" });
  t.is((await post(again, { text: "one more" })).status, 201);
  await until(async () => (await total(again)) === 21, { what: "the new event" });
});

/** Returns the command that make would run. */
async function dry(...words: string[]): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)("make", ["-n", ...words], { cwd: join(import.meta.dirname, "../..") });
  const line = stdout.split("\n").find((line) => line.includes("loggia.mjs"));
  return line
    ?.replace(/^.*loggia\.mjs /, "")
    .replaceAll(/ +/g, " ")
    .trim();
}

test("make passes its variables to the command", async (t) => {
  t.is(await dry("deadletters"), "deadletters list");
  t.is(await dry("deadletters", "JSON=1"), "deadletters list --json");
  t.is(await dry("deadletters", "REDRIVE=17 18"), "deadletters redrive 17 18");
  t.is(await dry("replay", "FROM=start"), 'replay "start"');
  t.is(await dry("replay", "FROM=2026-11-21", "INTO=old"), 'replay "2026-11-21" --into "old"');
  t.is(await dry("backup", "TO=/tmp/a b"), 'backup "/tmp/a b"');
  t.is(await dry("restore", "FROM=/tmp/a"), 'restore "/tmp/a"');
  await t.throwsAsync(dry("replay"), { message: /FROM=/ });
});
