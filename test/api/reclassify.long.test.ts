import test from "ava";

import { applyClasses } from "../../src/cli/reclassify.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, AUTHORIZATION, get, LOG, postOnce, serviceOf, settled } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { until } from "../support/until.ts";
import { classFilter } from "../pipelines/fixture.ts";

const log = parseLogKey(LOG)!;
const PATH = `/manage/1/logs/${LOG}/reclassify`;

type JobState = { state: string; from: string | null; total: number; done: number; changed: number };
type Row = {
  id: string;
  text: string;
  class?: string;
  filter?: string;
  bookmarks: string[] | null;
  alerts: string[] | null;
};

async function order(
  service: Service,
  json?: object,
): Promise<{ status: number; body: JobState & { error?: { message: string } } }> {
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  const body = json === undefined ? null : JSON.stringify(json);
  const response = await fetch(service.apiUrl + PATH, { method: "POST", headers, body });
  return { status: response.status, body: (await response.json()) as JobState };
}

async function readState(service: Service): Promise<JobState> {
  return (await get(service, PATH)).body as JobState;
}

async function ended(service: Service): Promise<JobState> {
  const look = async (): Promise<JobState | null> => {
    const now = await readState(service);
    return now.state === "done" || now.state === "failed" ? now : null;
  };
  return until(look, { what: "the end of a reclassification", timeout_ms: 120_000 });
}

async function allRows(service: Service): Promise<Row[]> {
  const rows: Row[] = [];
  for (let number = 1; ; number++) {
    const { headers, body } = await get(service, `/1/logs/${LOG}/events?pagesize=500&pagenum=${number}`);
    rows.push(...(body as Row[]));
    if (rows.length >= Number(headers.get("x-total-count"))) return rows;
  }
}

async function stored(service: Service, count: number): Promise<void> {
  const total = async () =>
    Number((await get(service, `/1/logs/${LOG}/events?pagesize=1&total=exact`)).headers.get("x-total-count"));
  await until(async () => (await total()) >= count, { what: `${count} stored events`, timeout_ms: 90_000 });
}

for (const kind of KINDS) {
  test(`${kind}: stored events from a moment on get today's classes, with the moment in any format`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, kind);
    for (const from of ["yesterday", "9/19/2011", "2011-13-01", 1.5, 1e17, true, {}]) {
      const { status, body } = await order(service, { from });
      t.is(status, 400, JSON.stringify(from));
      t.regex(body.error?.message ?? "", /The field from must be/);
    }
    t.deepEqual((await readState(service)).state, "none");
    await postOnce(service, { text: "disk full" });
    await service.ports.catalog.createClassFilter(log, classFilter("full", { text: "disk" }));
    // It may not be stored yet and was classified before the filter existed.
    const first = await order(service);
    t.is(first.status, 202);
    t.like(await ended(service), { state: "done", total: 1, done: 1, from: null });
    await stored(service, 1);
    t.like((await allRows(service))[0], { class: "full", filter: "full" });

    for (const [from, ms] of [
      ["2011-06-19", 1308441600000],
      ["2011-06-19T10:00:00Z", 1308477600000],
      ["2011-06-19T12:00+02:00", 1308477600000],
      ["1308477600000", 1308477600000],
      [1308477600000, 1308477600000],
      [-5, -5],
    ] as const) {
      const { status, body } = await order(service, { from });
      t.is(status, 202, String(from));
      t.is(body.from, `/Date(${ms})/`);
      await ended(service);
    }
  });

  test(`${kind}: posts, annotations and deletions run beside it, and none is lost`, async (t) => {
    t.timeout(600_000);
    const service = await serviceOf(t, kind);
    const { catalog } = service.ports;
    const events = Array.from({ length: 4_000 }, (_, i) => ({ text: `disk ${i}`, data: `{"n": ${i} }` }));
    await postOnce(service, events);
    await stored(service, 4_000);
    const before = await allRows(service);
    await catalog.createClassFilter(log, classFilter("disk", { text: "disk" }));
    const user = catalog.account(ADMIN.email)!.id;
    await catalog.setClassOptions(user, log, "disk", { alert: true, notify: false, hide: false });
    const ordered = order(service, {});
    const posted: string[] = [];
    const marked: string[] = [];
    const deleted = new Set<string>();
    let state = "ordered";
    // The first round runs beside the order itself, the others beside what it started.
    for (let i = 0; state !== "done" && state !== "failed"; i++) {
      const { id } = await postOnce(service, { text: `disk meanwhile ${i}` });
      posted.push(id!);
      const [mark, gone] = [before[(7 * i) % 2_000]!.id, before[2_000 + ((3 * i) % 2_000)]!.id];
      const headersOf = { Authorization: AUTHORIZATION };
      const form = new URLSearchParams({ id: mark });
      const marking = await fetch(`${service.apiUrl}/1/logs/${LOG}/bookmarks`, {
        method: "POST",
        headers: headersOf,
        body: form,
      });
      if (marking.status === 201) marked.push(mark);
      const url = `${service.apiUrl}/1/logs/${LOG}/events/${gone}`;
      const remove = async () => (await fetch(url, { method: "DELETE", headers: headersOf })).status;
      // Repeated if the bus did not confirm it in time: it may be gone all the same.
      const isGone = async () => [204, 404].includes(await remove());
      await until(isGone, { what: "the deletion", interval_ms: 500 });
      deleted.add(gone);
      if (i === 0) t.is((await ordered).status, 202);
      ({ state } = await readState(service));
    }
    t.is(state, "done");
    await settled(service);
    const rows = new Map((await allRows(service)).map((row) => [row.id, row]));
    t.is(rows.size, 4_000 - deleted.size + posted.length);
    for (const row of rows.values()) t.is(row.class, "disk", row.text);
    for (const id of marked) t.deepEqual(rows.get(id)?.bookmarks, [user]);
    for (const id of deleted) t.false(rows.has(id));
    const alerted = [...rows.values()].filter(({ alerts }) => alerts !== null).map(({ id }) => id);
    t.deepEqual(new Set(alerted), new Set(posted), "of what was posted since, and nothing of the past");
    t.log({ posted: posted.length, marked: marked.length, deleted: deleted.size });
  });

  test(`${kind}: the command waits for the end only if asked to`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, kind);
    await postOnce(service, { text: "disk full" });
    await stored(service, 1);
    await service.ports.catalog.createClassFilter(log, classFilter("full", { text: "disk" }));
    const options = { api: service.apiUrl, as: `${ADMIN.email}:${ADMIN.password}` };
    const waited = await applyClasses(options, LOG, process.stderr);
    t.is(waited.text, `log ${LOG}: 1 events examined, 1 changed`);
    t.like(waited.value, { state: "done", done: 1, changed: 1 });
    const left = await applyClasses({ ...options, wait: false, from: "2011-06-19" }, LOG, process.stderr);
    t.is(left.text, `events of log ${LOG} from 2011-06-19T00:00:00.000Z on are being reclassified`);
    await ended(service);
    await t.throwsAsync(applyClasses(options, "unknown", process.stderr), { message: /refused with 404/ });
    await t.throwsAsync(applyClasses({ ...options, from: "soon" }, LOG, process.stderr), { message: /The field from/ });
  });
}
