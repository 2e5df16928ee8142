import test from "ava";

import { AUTHORIZATION, get, LOG, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { rows, run, shipTo } from "./ship-runs.ts";

type Attributed = { readonly text: string; readonly attributes: Readonly<Record<string, unknown>> };

test("lines that claim a time ahead are stored, and keep it", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ahead = new Date(Date.now() + 3_600_000).toISOString();
  const input = Array.from({ length: 250 }, (_, n) => `${ahead} line ${n}`).join("\n");
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { code, out } = await run(words, { input });
  t.is(out, "posted 250, failed 0, retried 0\n");
  t.is(code, 0);
  await rows(service, 250);
  const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500&attributes=true`);
  const events = body as Attributed[];
  t.is(events.length, 250);
  t.true(events.every(({ attributes }) => attributes["claimed_created"] === ahead));
});

test("lines that are older than the log keeps are counted, and lines without a time keep what they have", async (t) => {
  const service = await serviceOf(t, "embedded");
  const changed = await fetch(`${service.apiUrl}/manage/1/logs/${LOG}`, {
    method: "PATCH",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ retentionDays: 30 }),
  });
  t.true(changed.ok);
  const words = shipTo(service.postUrl, "--pattern", String.raw`^(?<created>\S+) (?<text>.*)$`);
  const { code, out, err } = await run(words, {
    input: "2011-06-19T13:54:33Z old\n12.345678 usb 1-1\n20190501 invoice\n",
  });
  t.is(out, "posted 2, failed 1, retried 0\n");
  t.is(code, 1);
  t.regex(err, /\nloggia: 1 line is older than the log keeps events, and not stored; /);
  await rows(service, 2);
  const { body } = await get(service, `/1/logs/${LOG}/events?attributes=true`);
  const events = new Map((body as Attributed[]).map(({ text, attributes }) => [text, attributes]));
  t.deepEqual(events.get("usb 1-1"), { created: "12.345678" });
  t.deepEqual(events.get("invoice"), { created: "20190501" });
});

/** Moments in June 2026 in UTC, by what the lines end with. */
async function momentsOf(service: Service, count: number): Promise<Record<string, string>> {
  await rows(service, count);
  const { body } = await get(service, `/1/logs/${LOG}/events?pagesize=500`);
  return Object.fromEntries(
    (body as { text: string; created: string }[]).map(({ text, created }) => [
      text,
      new Date(Number(/-?\d+/.exec(created)![0])).toISOString(),
    ]),
  );
}

const TWO_WORDS = String.raw`^(?<created>\S+ \S+) (?<text>.*)$`;

test("a date with dots has its day first", async (t) => {
  const service = await serviceOf(t, "embedded");
  const input = "05 12 13 28"
    .split(" ")
    .map((day) => `${day}.06.2026 12:00:00 Zeile ${day}`)
    .join("\n");
  const { code, out, err } = await run(shipTo(service.postUrl, "--pattern", TWO_WORDS), { input, machineZone: "UTC" });
  t.is(out, "posted 4, failed 0, retried 0\n", err);
  t.is(code, 0);
  t.is(err, "");
  t.deepEqual(await momentsOf(service, 4), {
    "Zeile 05": "2026-06-05T12:00:00.000Z",
    "Zeile 12": "2026-06-12T12:00:00.000Z",
    "Zeile 13": "2026-06-13T12:00:00.000Z",
    "Zeile 28": "2026-06-28T12:00:00.000Z",
  });
});

test("an abbreviation means the zone of the machine, or of --tz, that has such a name", async (t) => {
  const service = await serviceOf(t, "embedded");
  const pattern = String.raw`^(?<created>\S+ \S+ [A-Z]+) (?<text>.*)$`;
  const words = shipTo(service.postUrl, "--pattern", pattern);
  const ship = (name: string, zones: { machineZone: string; tz?: string }) =>
    run([...words, ...(zones.tz === undefined ? [] : ["--tz", zones.tz])], {
      input: `2026-06-05 12:00:00 CST ${name}`,
      machineZone: zones.machineZone,
    });
  t.is((await ship("machine", { machineZone: "Asia/Shanghai" })).err, "");
  t.is((await ship("given", { machineZone: "Asia/Shanghai", tz: "America/Chicago" })).err, "");
  const { err } = await ship("neither", { machineZone: "Europe/Berlin" });
  t.regex(err, /^loggia: 2026-06-05 12:00:00 CST is no time in a known form; .*--tz/);
  t.regex(err, /\nloggia: 1 line has no time in a known form; /);
  const { neither, ...moments } = await momentsOf(service, 3);
  t.deepEqual(moments, { machine: "2026-06-05T04:00:00.000Z", given: "2026-06-05T18:00:00.000Z" });
  t.true(Date.parse(neither!) > Date.now() - 600_000);
});

test("texts without a zone are of the machine's, or of --tz, in JSON too", async (t) => {
  const service = await serviceOf(t, "embedded");
  const input = '{"msg":"machine","time":"2026-06-05 12:00:00,250"}';
  await run(shipTo(service.postUrl, "--json"), { input, machineZone: "Europe/Berlin" });
  const given = input.replace("machine", "given");
  await run(shipTo(service.postUrl, "--json", "--tz", "5.5"), { input: given, machineZone: "Europe/Berlin" });
  t.deepEqual(await momentsOf(service, 2), {
    machine: "2026-06-05T10:00:00.250Z",
    given: "2026-06-05T06:30:00.250Z",
  });
});

test("--time-format and --dates say how dates with slashes are read; without them they are no times", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ship = (name: string, ...options: string[]) =>
    run(shipTo(service.postUrl, "--pattern", TWO_WORDS, ...options), {
      input: `05/06/2026 12:00:00 ${name}`,
      machineZone: "UTC",
    });
  t.is((await ship("format", "--time-format", "%d/%m/%Y %H:%M:%S")).err, "");
  t.is((await ship("order", "--dates", "month-first")).err, "");
  t.regex((await ship("neither")).err, /^loggia: 05\/06\/2026 12:00:00 is no time in a known form; --time-format /);
  const { neither, ...moments } = await momentsOf(service, 3);
  t.deepEqual(moments, { format: "2026-06-05T12:00:00.000Z", order: "2026-05-06T12:00:00.000Z" });
  t.true(Date.parse(neither!) > Date.now() - 600_000);
});

test("a run says how many of its lines have no time, and nothing where none is expected", async (t) => {
  const service = await serviceOf(t, "embedded");
  const json = await run(shipTo(service.postUrl, "--json"), {
    input: '{"msg":"a","time":"2026-06-05T12:00:00Z"}\n{"msg":"b","time":"05/06/2026 12:00"}\n{"msg":"c"}\n',
  });
  t.is(json.out, "posted 3, failed 0, retried 0\n");
  t.regex(
    json.err,
    /^loggia: 05\/06\/2026 12:00 is no time in .*\nloggia: 2 lines have no time in a known form; the time of their post counts\n$/,
  );
  t.is((await run(shipTo(service.postUrl), { input: "plain\n" })).err, "");
  t.is((await run(shipTo(service.postUrl, "--pattern", "^(?<text>.*)$"), { input: "plain\n" })).err, "");
});

test("a format or a zone that can't be used ends the run before it begins", async (t) => {
  const words = shipTo("http://127.0.0.1:1");
  const format = await run([...words, "--time-format", "yyyy-MM-dd"], { input: "x" });
  t.is(format.code, 1);
  t.is(format.err, "loggia: --time-format yyyy-MM-dd can't be used: it has no day and month, nor %s\n");
  const zone = await run([...words, "--tz", "Europe/Berln"], { input: "x" });
  t.is(zone.code, 1);
  t.regex(zone.err, /^loggia: --tz is .*Europe\/Berln.*Did you mean .*Europe\/Berlin/);
});
