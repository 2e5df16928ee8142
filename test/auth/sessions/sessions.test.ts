import test from "ava";
import type { ExecutionContext } from "ava";
import { pino } from "pino";

import type { Account, Session } from "../../../src/auth/principals.ts";
import type { Catalog } from "../../../src/catalog/catalog.ts";
import { createCatalog } from "../../../src/catalog/create.ts";
import type { Documents } from "../../../src/catalog/documents/documents.ts";
import { SEEN_STEP_MS, SESSION_IDLE_MS, SESSION_LIFE_MS } from "../../../src/auth/sessions/session-records.ts";
import { MAX_TICKETS, TICKET_MS } from "../../../src/auth/sessions/session-tickets.ts";
import { MAX_SESSIONS } from "../../../src/auth/sessions/sessions.ts";
import { START_TICKET_MS } from "../../../src/auth/sessions/start-ticket.ts";
import { TrustedTime } from "../../../src/clock/trusted-clock.ts";
import { Machine } from "../../clock/machine.ts";
import { DOCUMENTS_ADAPTERS } from "../../contract/documents-adapters.ts";
import type { DocumentsStorage } from "../../contract/documents-adapters.ts";
import { until } from "../../support/until.ts";

const EMAIL = "ann@example.org";
const HOUR_MS = 3_600_000;
const log = pino({ level: "silent" });

type Process = { readonly catalog: Catalog; readonly writes: () => number };

/** A process that shares the catalog with others, and the clocks of its machine. */
async function processOf(t: ExecutionContext, storage: DocumentsStorage, machine: Machine): Promise<Process> {
  const time = new TrustedTime(machine);
  const trusted = (): number => {
    time.check();
    return time.trusted();
  };
  const documents = await storage.connect();
  let writes = 0;
  const counted: Documents = {
    ...documents,
    create: (...words) => ((writes += 1), documents.create(...words)),
    replace: (...words) => ((writes += 1), documents.replace(...words)),
    remove: (...words) => ((writes += 1), documents.remove(...words)),
  };
  const catalog = await createCatalog({ documents: counted, log, now: trusted });
  t.teardown(() => catalog[Symbol.asyncDispose]());
  return { catalog, writes: () => writes };
}

function begin(catalog: Catalog, account: Account): Promise<{ secret: string; session: Session }> {
  const password = catalog.passwordMark(account.id)!;
  return catalog.createSession({ account, password, address: "192.0.2.1", agent: "Firefox" });
}

async function isOpen(catalog: Catalog, secret: string): Promise<boolean> {
  return (await catalog.session(secret)) !== null;
}

async function use(catalog: Catalog, secret: string): Promise<void> {
  const found = await catalog.session(secret);
  if (found === null) throw new Error("the session is over");
  catalog.useSession(found.session);
}

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) {
  const declare = (
    title: string,
    run: (
      t: ExecutionContext,
      parts: Process & { account: Account; machine: Machine; storage: DocumentsStorage },
    ) => Promise<void>,
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      t.timeout(120_000);
      const storage = await openStorage(t);
      const machine = new Machine();
      const process = await processOf(t, storage, machine);
      const account = await process.catalog.createAccount({ email: EMAIL, password: "correct horse", admin: false });
      await run(t, { ...process, account, machine, storage });
    });
  };

  declare("a session is found by a secret of 256 bits, of which only a hash is stored", async (t, parts) => {
    const { catalog, account, storage } = parts;
    const { secret, session } = await begin(catalog, account);
    t.is(Buffer.from(secret, "base64url").length, 32);
    t.deepEqual(await catalog.session(secret), { account, session });
    t.like(session, { user: account.id, address: "192.0.2.1", agent: "Firefox" });
    for (const wrong of ["", session.id, secret.slice(1), `${secret}a`, `A${secret.slice(1)}`])
      if (wrong !== secret) t.is(await catalog.session(wrong), null, wrong);
    const { documents } = await (await storage.connect()).changes(null);
    t.true(documents.some(({ id }) => id === `sessions/${account.id}`));
    t.false(JSON.stringify(documents).includes(secret));
  });

  declare("a session works in another process at once, and ends there too", async (t, parts) => {
    const { catalog: here, account, storage, machine } = parts;
    const { catalog: there } = await processOf(t, storage, machine);
    const { secret, session } = await begin(here, account);
    t.true(await isOpen(there, secret));
    t.true(await here.endSession(account.id, session.id));
    t.false(await isOpen(here, secret));
    await until(async () => !there.hasSession(session), { what: "the other process to know" });
    t.false(await here.endSession(account.id, session.id));
  });

  declare("a new password or removing the account ends its sessions, in every process", async (t, parts) => {
    const { catalog: here, account, storage, machine } = parts;
    const { catalog: there } = await processOf(t, storage, machine);
    for (const end of [() => here.setPassword(EMAIL, "correct horse"), () => here.deleteAccount(EMAIL)]) {
      const { secret, session } = await begin(here, account);
      t.true(await isOpen(there, secret));
      await end();
      t.false(await isOpen(here, secret));
      await until(async () => !there.hasSession(session), { what: "the other process to know" });
      t.false(await isOpen(there, secret));
    }
    t.deepEqual(here.sessionsOf(account.id), []);
  });

  declare("a session created while the password changes is invalid", async (t, { catalog, account }) => {
    const password = catalog.passwordMark(account.id)!;
    await catalog.setPassword(EMAIL, "battery staple");
    const beginning = catalog.createSession({ account, password, address: "", agent: "" });
    await t.throwsAsync(beginning, { code: "unauthorized" });
    t.deepEqual(catalog.sessionsOf(account.id), []);
  });

  declare("a write by a process with an old password ends no session of the new one", async (t, parts) => {
    const { catalog: here, account, storage, machine } = parts;
    const documents = await storage.connect();
    // This process learns of the change only by what it reads for its own write.
    const there = await createCatalog({ documents, log, poll_ms: HOUR_MS, now: machine.host });
    t.teardown(() => there[Symbol.asyncDispose]());
    const old = await begin(here, account);
    await there.refresh();
    await here.setPassword(EMAIL, "battery staple");
    const { secret } = await begin(here, account);
    await there.endSession(account.id, old.session.id);
    await there.removeEndedSessions();
    const { catalog: third } = await processOf(t, storage, machine);
    t.true(await isOpen(third, secret));
  });

  declare("a session ends after 12 hours without use, and after 7 days in any case", async (t, parts) => {
    const { catalog, account, machine } = parts;
    const { secret, session } = await begin(catalog, account);
    t.is(session.expires - session.created, SESSION_IDLE_MS);
    machine.pass(SESSION_IDLE_MS - 1);
    t.true(await isOpen(catalog, secret));
    machine.pass(1);
    t.false(await isOpen(catalog, secret));

    const used = await begin(catalog, account);
    let passed_ms = 0;
    for (; passed_ms + 11 * HOUR_MS < SESSION_LIFE_MS; passed_ms += 11 * HOUR_MS) {
      machine.pass(11 * HOUR_MS);
      await use(catalog, used.secret);
    }
    machine.pass(SESSION_LIFE_MS - passed_ms - 1);
    t.is((await catalog.session(used.secret))?.session.expires, used.session.created + SESSION_LIFE_MS);
    machine.pass(1);
    t.false(await isOpen(catalog, used.secret));
  });

  declare("uses are stored every five minutes and visible to other processes", async (t, parts) => {
    const { catalog: here, writes, account, machine, storage } = parts;
    const { secret, session } = await begin(here, account);
    const before = writes();
    for (let i = 0; i < 100; i++) await use(here, secret);
    machine.pass(SEEN_STEP_MS - 1);
    for (let i = 0; i < 100; i++) await use(here, secret);
    t.is(writes(), before);
    t.is(here.sessionsOf(account.id)[0]?.seen, session.seen + SEEN_STEP_MS - 1, "here it shows at once");
    machine.pass(1);
    for (let i = 0; i < 100; i++) await use(here, secret);
    const { catalog: there } = await processOf(t, storage, machine);
    const seenThere = async () => {
      await there.refresh();
      return there.sessionsOf(account.id)[0]?.seen === session.seen + SEEN_STEP_MS;
    };
    await until(seenThere, { what: "the use to be stored" });
    t.is(writes(), before + 1);
  });

  declare("setting the clock forward ends no session, and setting it back extends none", async (t, parts) => {
    const { catalog, account, machine } = parts;
    const first = await begin(catalog, account);
    machine.step(3 * 24 * HOUR_MS);
    t.true(await isOpen(catalog, first.secret), "set forward");
    const second = await begin(catalog, account);
    machine.step(-6 * 24 * HOUR_MS);
    t.true(await isOpen(catalog, first.secret), "set back");
    t.true(await isOpen(catalog, second.secret), "begun while it was ahead");
    machine.pass(SESSION_IDLE_MS);
    t.false(await isOpen(catalog, first.secret), "time passed, whatever the host shows");
    t.false(await isOpen(catalog, second.secret));
  });

  declare("a session that a wrong clock dated into the future is invalid", async (t, parts) => {
    const { account, storage } = parts;
    const ahead = new Machine();
    ahead.step(365 * 24 * HOUR_MS);
    const { catalog: wrong } = await processOf(t, storage, ahead);
    const { secret } = await begin(wrong, account);
    t.true(await isOpen(wrong, secret));
    t.false(await isOpen(parts.catalog, secret));
  });

  declare("the oldest of 100 sessions ends for a new one", async (t, { catalog, account, machine }) => {
    const secrets: string[] = [];
    for (let i = 0; i < MAX_SESSIONS + 2; i++) {
      machine.pass(1);
      secrets.push((await begin(catalog, account)).secret);
    }
    const open = await Promise.all(secrets.map((secret) => isOpen(catalog, secret)));
    t.deepEqual(open, [false, false, ...Array.from({ length: MAX_SESSIONS }, () => true)]);
    t.is(catalog.sessionsOf(account.id).length, MAX_SESSIONS);
  });

  declare("ended sessions are removed, and nothing else", async (t, { catalog, account, machine, storage }) => {
    await begin(catalog, account);
    machine.pass(SESSION_IDLE_MS + SEEN_STEP_MS);
    const kept = await begin(catalog, account);
    const other = await catalog.createAccount({ email: "bob@example.org", password: "correct horse", admin: false });
    await begin(catalog, other);
    await catalog.setPassword("bob@example.org", "battery staple");
    await catalog.removeEndedSessions();
    const { documents } = await (await storage.connect()).changes(null);
    const stored = documents.filter(({ id, body }) => id.startsWith("sessions/") && body !== null);
    t.deepEqual(
      stored.map(({ id }) => id),
      [`sessions/${account.id}`],
    );
    t.is((stored[0]!.body as unknown as { sessions: unknown[] }).sessions.length, 1);
    t.true(await isOpen(catalog, kept.secret));
  });

  declare("a ticket is valid once, for its path and its account, across all processes", async (t, parts) => {
    const { catalog: here, account, storage, machine } = parts;
    const { catalog: there } = await processOf(t, storage, machine);
    const { session } = await begin(here, account);
    const bob = await here.createAccount({ email: "bob@example.org", password: "correct horse", admin: false });
    const ticket = await here.createTicket(session, "/1/logs?");
    const { documents } = await (await storage.connect()).changes(null);
    t.false(JSON.stringify(documents).includes(ticket));
    t.is(await there.useTicket(ticket, "/1/logs?a=1", null), null, "another path");
    t.is(await there.useTicket(ticket, "/1/logs?", bob.id), null, "another person");
    t.is(await there.useTicket(`A${ticket.slice(1)}A`, "/1/logs?", null), null);
    const uses = [here, there, here, there].map((catalog) => catalog.useTicket(ticket, "/1/logs?", account.id));
    const found = (await Promise.all(uses)).filter((use) => use !== null);
    t.is(found.length, 1);
    t.like(found[0], { account, session: { id: session.id } });
    t.is(await there.useTicket(ticket, "/1/logs?", null), null);
  });

  declare("a ticket expires after a minute, and with its session", async (t, { catalog, account, machine }) => {
    const { session } = await begin(catalog, account);
    const [late, kept] = [await catalog.createTicket(session, "/a"), await catalog.createTicket(session, "/a")];
    machine.pass(TICKET_MS - 1);
    t.not(await catalog.useTicket(kept, "/a", null), null);
    machine.pass(1);
    t.is(await catalog.useTicket(late, "/a", null), null);
    const [first] = [await catalog.createTicket(session, "/a")];
    for (let i = 0; i < MAX_TICKETS; i++) await catalog.createTicket(session, "/a");
    t.is(await catalog.useTicket(first, "/a", null), null, "the oldest ends for a new one");
    const ended = await catalog.createTicket(session, "/a");
    await catalog.endSession(account.id, session.id);
    t.is(await catalog.useTicket(ended, "/a", null), null);
    await t.throwsAsync(catalog.createTicket(session, "/a"), { code: "unauthorized" });
    const second = await begin(catalog, account);
    const old = await catalog.createTicket(second.session, "/a");
    await catalog.setPassword(EMAIL, "battery staple");
    t.is(await catalog.useTicket(old, "/a", null), null, "the password was changed");
  });

  declare("the ticket of the first start signs in once, across all processes", async (t, parts) => {
    const { catalog: here, account, storage, machine } = parts;
    const { catalog: there } = await processOf(t, storage, machine);
    const ticket = (await here.createStartTicket(account.id))!;
    t.is(await here.useStartTicket(ticket.slice(1)), null);
    const tries = await Promise.all([here, there, here, there].map((catalog) => catalog.useStartTicket(ticket)));
    t.deepEqual(
      tries.filter((found) => found !== null),
      [account],
    );

    const late = (await here.createStartTicket(account.id))!;
    machine.pass(START_TICKET_MS);
    t.is(await here.useStartTicket(late), null);
    const old = (await here.createStartTicket(account.id))!;
    await here.setPassword(EMAIL, "battery staple");
    t.is(await here.useStartTicket(old), null);
  });
}
