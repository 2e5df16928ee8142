import test from "ava";
import { join } from "node:path";

import { freePorts } from "../../infra/engines/ports.ts";
import { Program } from "../chaos/program.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, LOG, postOnce } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const EVENTS = 40_000;
const BATCH = 5_000;
const MOST_ATTEMPTS = 5;

type JobState = {
  readonly state: string;
  readonly total: number | null;
  readonly done: number;
  readonly changed: number;
};
type Group = { readonly key: string; readonly count: string };

async function send(url: string, type: string, body: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": type, ...headers }, body });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${answer}`);
}

for (const kind of KINDS) {
  test(`${kind}: an order continues where it was when its process is killed`, async (t) => {
    t.timeout(600_000);
    const folder = temporaryFolder(t);
    const [api, post] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
    const environment = { ...environmentOf(kind, join(folder, "data")), LOGGIA_API: api, LOGGIA_POST: post };
    const start = async (name: string, roles: Record<string, string> = {}) => {
      const program = await Program.start({ name, folder, environment: { ...environment, ...roles } });
      t.teardown(() => program.kill());
      return program;
    };
    const get = async <T>(path: string): Promise<T> => {
      const response = await fetch(`http://${api}${path}`, { headers: { Authorization: AUTHORIZATION } });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    };
    const readState = () => get<JobState>(`/manage/1/logs/${LOG}/reclassify`);
    const group = (by: string) =>
      get<Group[]>(`/1/logs/${LOG}/query?query=${encodeURIComponent(`GET events GROUPBY ${by}`)}`);

    // On a cluster one process takes requests and others do the work.
    const isAlone = kind === "embedded";
    const first = await start("first", isAlone ? {} : { LOGGIA_ROLES: "pipeline" });
    if (!isAlone) await start("front", { LOGGIA_ROLES: "api,post" });
    for (let from = 0; from < EVENTS; from += BATCH) {
      const events = Array.from({ length: BATCH }, (_, i) => ({ text: `disk ${from + i}`, source: "db" }));
      await postOnce({ postUrl: `http://${post}` }, events);
    }
    const stored = async () => (await group("source")).some(({ count }) => Number(count) === EVENTS);
    await until(stored, { what: "all events to be stored", timeout_ms: 300_000 });
    const manage = `http://${api}/manage/1/logs/${LOG}`;
    const asAdmin = { Authorization: AUTHORIZATION };
    await send(`${manage}/classFilters`, "application/json", '{"key":"disk","text":"disk"}', asAdmin);
    const amid = async (): Promise<JobState | null> => {
      const now = await readState();
      return now.done > 0 ? now : null;
    };
    let before: JobState;
    // An order that has ended, while this process stalled, is given once more.
    for (let attempt = 1; ; attempt += 1) {
      await send(`${manage}/reclassify`, "application/json", "{}", asAdmin);
      before = await until(amid, { what: "the order to be under way" });
      if (before.state === "running" || attempt === MOST_ATTEMPTS) break;
    }
    t.is(before.state, "running");
    await first.kill();
    if (isAlone) await first.start();
    else await start("second", { LOGGIA_ROLES: "pipeline" });
    const after = await readState();
    t.true(after.done >= before.done, `${after.done} events after ${before.done}: it does not begin again`);
    const ended = async (): Promise<JobState | null> => {
      const now = await readState();
      return now.state === "running" ? null : now;
    };
    const end = await until(ended, { what: "the end", timeout_ms: 300_000 });
    t.like(end, { state: "done", total: EVENTS, done: EVENTS });
    t.log({ before, after, end });
    t.deepEqual(
      (await group("class")).map(({ key, count }) => [key, count]),
      [["disk", String(EVENTS)]],
    );
  });
}
