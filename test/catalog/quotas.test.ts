import test from "ava";
import { pino } from "pino";

import { createCatalog } from "../../src/catalog/create.ts";
import { TrustedTime } from "../../src/clock/trusted-clock.ts";
import type { LoggiaError } from "../../src/errors.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { Machine } from "../clock/machine.ts";
import { DOCUMENTS_ADAPTERS } from "../contract/documents-adapters.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { environmentOf, LOG, startService } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const ACCOUNT = { email: "bob@example.org", password: "correct horse", admin: false } as const;
const HOUR_MS = 3_600_000;
const log = pino({ level: "silent" });

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) {
  test(`${name}: ten logs a minute, whatever happens to the clock`, async (t) => {
    const machine = new Machine();
    const { now } = new TrustedTime(machine);
    const storage = await openStorage(t);
    const catalog = await createCatalog({ documents: await storage.connect(), log, now });
    t.teardown(() => catalog[Symbol.asyncDispose]());
    const { id: owner } = await catalog.createAccount(ACCOUNT);
    let n = 0;
    const create = () => catalog.createLog({ key: parseLogKey(`log-${(n += 1)}`)!, display: "A log", owner });
    const refused = async (why: string): Promise<void> => {
      const error = await t.throwsAsync<LoggiaError>(create, { code: "too_many_requests" }, why);
      t.true(error.retryAfter_s! <= 60, why);
    };
    for (let i = 0; i < 10; i++) await create();
    machine.step(HOUR_MS);
    await refused("set forward");
    machine.step(-HOUR_MS);
    await refused("set right again");
    machine.step(-HOUR_MS / 2);
    await refused("set back");
    machine.pass(61_000);
    await t.notThrowsAsync(create, "a minute later");
  });
}

for (const kind of KINDS) {
  test.serial(`${kind}: the service counts logs by its trusted clock`, async (t) => {
    t.timeout(300_000);
    const service = await startService(environmentOf(kind, temporaryFolder(t)));
    t.teardown(() => service.close());
    await service.ports.catalog.createAccount(ACCOUNT);
    const create = async (key: string): Promise<number> => {
      const headers = { Authorization: `Basic ${btoa(`${ACCOUNT.email}:${ACCOUNT.password}`)}` };
      const body = new URLSearchParams({ key, display: key });
      return (await fetch(`${service.apiUrl}/1/logs`, { method: "POST", headers, body })).status;
    };
    for (let n = 0; n < 10; n++) t.is(await create(`log-${n}`), 201);
    const { now } = Date;
    const attemptAhead = async (): Promise<number> => {
      // On a slow machine a minute has passed since the first one. Attempts at another's key count too.
      await until(async () => (await create(LOG)) === 429, { what: "ten attempts within a minute" });
      Date.now = () => now() + HOUR_MS / 2;
      try {
        return await create(LOG);
      } finally {
        Date.now = now;
      }
    };
    let status = await attemptAhead();
    // A minute may also pass just before the attempt, which then counts as one more.
    for (let attempt = 1; attempt < 5 && status !== 429; attempt++) status = await attemptAhead();
    t.is(status, 429);
  });
}
