import test from "ava";

import type { BusRecord } from "../../../src/bus/bus.ts";
import { headerOf } from "../../support/smtp.ts";
import { uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { caughtUp } from "../fixture.ts";
import { addReader, MAIL_FIXTURES, postFailures, startMailing, startNoticePipeline, waitForMails } from "./fixture.ts";

for (const { name, open } of MAIL_FIXTURES) {
  test(`${name}: redelivered notices are not mailed again, by any process`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "once", "twice");
    await waitForMails(fixture.server, email, 1);
    const records = await allNotices(fixture.ports.bus, 2);
    await fixture.ports.bus.append("alerts", records);
    await fixture.ports.bus.append("alerts", records.toReversed());
    await until(() => notifier.stats().notices === 6, { what: "all copies" });
    await postFailures(fixture, "new");
    const mails = await waitForMails(fixture.server, email, 2);
    t.is(mails.length, 2);
    t.is(headerOf(mails[1]!, "Subject"), `[${fixture.log}] failure: new`);
  });

  test(`${name}: events that were mailed are not mailed again when they are redelivered`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "a", "b", "c");
    await waitForMails(fixture.server, email, 1);
    await fixture.pipeline.close();
    // The same events again, as for a pipeline that had not acknowledged them.
    const store = { ...fixture.ports.store, nextOffset: async () => null };
    const again = await startNoticePipeline(t, { ...fixture.ports, store }, { group: uniqueName("again") });
    await caughtUp(again);
    await until(() => notifier.stats().notices === 6, { what: "their notices again" });
    await postFailures(fixture, "d");
    const mails = await waitForMails(fixture.server, email, 2);
    t.deepEqual(
      mails.map((mail) => headerOf(mail, "Subject")),
      [`[${fixture.log}] failure: 3 events: a`, `[${fixture.log}] failure: d`],
    );
  });
}

/** Copies this many records of the `alerts` topic. */
async function allNotices(
  bus: Parameters<typeof startMailing>[1]["ports"]["bus"],
  count: number,
): Promise<BusRecord[]> {
  const records: BusRecord[] = [];
  const reader = await bus.subscribe(
    { topic: "alerts", group: uniqueName("reader"), maxRecords: 100, maxBytes: 1e6 },
    async (batch) => void records.push(...batch.records),
  );
  await until(() => records.length >= count, { what: `${count} notices` });
  await reader.close();
  return records;
}
