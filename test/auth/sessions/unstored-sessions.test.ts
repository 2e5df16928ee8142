import test from "ava";
import type { ExecutionContext } from "ava";
import { pino } from "pino";

import type { Account } from "../../../src/auth/principals.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { createCatalog } from "../../../src/catalog/create.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { LoggiaError } from "../../../src/errors.ts";
import { fillDocuments } from "../../support/full-disk.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const log = pino({ level: "silent" });
const PATH = "/1/logs/shop/export?";

async function open(file: string, isAlone: boolean): Promise<Catalog> {
  return createCatalog({ documents: await openSqliteDocuments({ file }), log, isAlone, poll_ms: 10 });
}

function signIn(catalog: Catalog, account: Account) {
  const password = catalog.passwordMark(account.id)!;
  return catalog.createSession({ account, password, address: "192.0.2.1", agent: "Firefox" });
}

function fileOf(t: ExecutionContext): string {
  return `${temporaryFolder(t)}/catalog.sqlite`;
}

const ANN = { email: "ann@example.org", password: "correct horse", admin: true };

test("people sign in, read by ticket and sign out while nothing can be stored; it is stored later", async (t) => {
  const file = fileOf(t);
  let kept = "";
  let ended = "";
  {
    await using catalog = await open(file, true);
    const account = await catalog.createAccount(ANN);
    const before = await signIn(catalog, account);
    const makeRoom = fillDocuments(file);
    const first = await signIn(catalog, account);
    const second = await signIn(catalog, account);
    t.is((await catalog.session(first.secret))?.session.id, first.session.id);
    t.deepEqual(
      catalog.sessionsOf(account.id).map(({ id }) => id),
      [before, first, second].map(({ session }) => session.id),
    );
    for (const { session } of [before, first]) {
      const ticket = await catalog.createTicket(session, PATH);
      t.is((await catalog.useTicket(ticket, PATH, account.id))?.session.id, session.id);
      t.is(await catalog.useTicket(ticket, PATH, account.id), null, "a ticket is used once");
    }
    t.true(await catalog.endSession(account.id, second.session.id));
    t.is(await catalog.session(second.secret), null);
    // It is over here, but would be back after a restart: that is not confirmed.
    const { code } = await t.throwsAsync(catalog.endSession(account.id, before.session.id), {
      instanceOf: LoggiaError,
    });
    t.is(code, "store_unavailable");
    t.is(await catalog.session(before.secret), null);
    makeRoom();
    await catalog.removeEndedSessions();
    kept = first.secret;
    ended = before.secret;
  }
  await using after = await open(file, true);
  t.not(await after.session(kept), null, "stored once there was room");
  t.is(await after.session(ended), null);
});

test("where other processes serve sessions too, none is kept in memory", async (t) => {
  const file = fileOf(t);
  await using catalog = await open(file, false);
  const account = await catalog.createAccount(ANN);
  fillDocuments(file);
  const { code } = await t.throwsAsync(signIn(catalog, account), { instanceOf: LoggiaError });
  t.is(code, "store_unavailable");
  t.deepEqual(catalog.sessionsOf(account.id), []);
});
