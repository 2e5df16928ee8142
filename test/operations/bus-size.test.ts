import test from "ava";
import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { environmentOf, get, postOnce, type Service, settled, startService } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { loggia, total } from "./fixture.ts";

const MB = 2 ** 20;
const BATCHES = 30;
const EVENTS = 200;

/** A batch of some 750 KB that compression makes hardly shorter. */
async function postBatch(service: Service): Promise<void> {
  const data = Array.from({ length: EVENTS }, () => ({ text: "large", data: randomBytes(3_800).toString("base64") }));
  await postOnce(service, data);
}

async function metric({ apiUrl }: Service, name: string): Promise<number> {
  const text = await (await fetch(`${apiUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
}

test("embedded: the bus keeps to its size, the store has everything, and a replay says how far back it goes", async (t) => {
  t.timeout(600_000);
  const service = await startService({
    ...environmentOf("embedded", join(temporaryFolder(t), "data")),
    LOGGIA_BUS_KEEP: "24h,16MB",
  });
  t.teardown(() => service.close());
  const { bus } = service.ports;
  for (let i = 0; i < BATCHES; i++) await postBatch(service);
  await settled(service);
  await until(async () => (await metric(service, "loggia_bus_used_bytes")) <= 16 * MB, { what: "the size to hold" });
  t.true((await metric(service, "loggia_bus_used_bytes")) > 12 * MB);
  t.is(await total(service), BATCHES * EVENTS);

  const [lag] = await bus.lag("events", "pipeline");
  t.true(lag!.first > 1, "the oldest records went");
  let appended: number | null = null;
  for await (const [record] of bus.read({ topic: "events", maxRecords: 1, maxBytes: MB })) {
    appended = record!.appended;
    break;
  }
  t.is(await metric(service, "loggia_bus_oldest_timestamp_seconds"), appended! / 1000);
  const moment = new Date(appended!).toISOString().replace("T", " ").slice(0, 19);
  const said = await loggia(service, "replay", "start");
  t.regex(said, new RegExp(`^read \\d+ records from ${moment} on: \\d+ events and 0 visits`));
  t.false(said.includes(`${BATCHES * EVENTS} events`), "no more than the bus holds");
  const { last } = (await get(service, "/manage/1/replay")).body as { last: { oldest: string } };
  t.is(last.oldest, `/Date(${appended})/`);
});
