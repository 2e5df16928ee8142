import test from "ava";
import { pino } from "pino";

import { createCatalog } from "../../../src/catalog/create.ts";
import { SEEN_STEP_MS, SESSION_IDLE_MS } from "../../../src/auth/sessions/session-records.ts";
import { startSessionRemoval } from "../../../src/auth/sessions/session-removal.ts";
import { Machine } from "../../clock/machine.ts";
import { DOCUMENTS_ADAPTERS } from "../../contract/documents-adapters.ts";
import { until } from "../../support/until.ts";

const log = pino({ level: "silent" });

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) {
  test(`${name}: stored sessions are removed once they have ended, and not while the clock is contradicted`, async (t) => {
    const storage = await openStorage(t);
    const machine = new Machine();
    const documents = await storage.connect();
    const catalog = await createCatalog({ documents, log, now: machine.host });
    t.teardown(() => catalog[Symbol.asyncDispose]());
    const account = await catalog.createAccount({ email: "ann@example.org", password: "correct horse", admin: false });
    const password = catalog.passwordMark(account.id)!;
    await catalog.createSession({ account, password, address: "", agent: "" });
    machine.pass(SESSION_IDLE_MS + SEEN_STEP_MS);
    let isInDoubt = true;
    let asked = 0;
    const clock = { mayRemove: () => ((asked += 1), !isInDoubt) };
    const removal = startSessionRemoval({ sessions: catalog, clock, log, interval_ms: 5 });
    t.teardown(() => removal[Symbol.asyncDispose]());
    const stored = async () => (await documents.read(`sessions/${account.id}`))?.body ?? null;
    await until(() => asked > 3, { what: "several reads of the clock" });
    t.not(await stored(), null);
    isInDoubt = false;
    await until(async () => (await stored()) === null, { what: "the session to be removed" });
  });
}
