import test from "ava";

import { LoggiaError } from "../../../src/errors.ts";
import { createIdSource } from "../../../src/events/id.ts";
import { headerOf, startSmtpServer } from "../../support/smtp.ts";
import { until } from "../../support/until.ts";
import { accept, caughtUp, overBus, post } from "../fixture.ts";
import {
  addReader,
  postFailures,
  mailsTo,
  MAIL_FIXTURES,
  waitForEarlierNotices,
  waitForMails,
  startMailing,
} from "./fixture.ts";

const QUIET = { alert: false, notify: false, hide: false };
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Returns a clock that starts an hour before a midnight, so that no day ends during a test. */
function eveningClock(): () => number {
  const start_ms = Date.now();
  const evening_ms = Math.floor(start_ms / DAY_MS) * DAY_MS - HOUR_MS;
  return () => evening_ms + Date.now() - start_ms;
}

for (const { name, open } of MAIL_FIXTURES) {
  test(`${name}: 1,000 events at once make one mail, and the next follows after the interval`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    // The clock stands until all notices have arrived.
    const start_ms = Date.now();
    let isStanding = true;
    const now = () => (isStanding ? start_ms : Date.now());
    const notifier = await startMailing(t, fixture, { collect_ms: 2_000, interval_ms: 4_000, lines: 20, now });
    await postFailures(fixture, ...Array.from({ length: 1_000 }, (_, i) => `storm ${i}`));
    await until(() => notifier.stats().notices === 1_000, { what: "all notices" });
    isStanding = false;
    const [first] = await waitForMails(fixture.server, email, 1);
    await postFailures(fixture, "the calm after");
    const mails = await waitForMails(fixture.server, email, 2);
    t.is(mails.length, 2);
    t.is(headerOf(first!, "Subject"), `[${fixture.log}] failure: 1000 events: storm 0`);
    t.regex(first!.text, /^1000 events of class failure in log \S+ since the last mail, the first 20 of them:/);
    t.regex(first!.text, /storm 19\n\n\.\.\. and 980 more\./);
    t.notRegex(first!.text, /storm 20\b/);
    t.is(headerOf(mails[1]!, "Subject"), `[${fixture.log}] failure: the calm after`);
    t.true(mails[1]!.at_ms - first!.at_ms >= 4_000, `${mails[1]!.at_ms - first!.at_ms} ms`);
    t.not(headerOf(mails[1]!, "Message-ID"), headerOf(first!, "Message-ID"));
  });

  test(`${name}: mails contain events of the class only and go to subscribers only`, async (t) => {
    const fixture = await open(t);
    const ann = await addReader(fixture);
    const bob = await addReader(fixture);
    await fixture.ports.catalog.setClassOptions(bob.id, fixture.log, "failure", { ...QUIET, alert: true });
    await startMailing(t, fixture);
    await post(fixture.ports.bus, [accept(fixture.log, { text: "nothing of note" })]);
    await postFailures(fixture, "Disk full");
    const [mail] = await waitForMails(fixture.server, ann.email, 1);
    await waitForEarlierNotices(fixture);
    t.regex(mail!.text, /Disk full/);
    t.notRegex(mail!.text, /nothing of note/);
    t.deepEqual(mailsTo(fixture.server, bob.email), []);
    t.deepEqual(mail!.to, [ann.email]);
  });

  test(`${name}: a user gets the daily limit of mails, then one that says so, then none`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    await startMailing(t, fixture, { dailyLimit: 3, now: eveningClock() });
    for (let n = 1; n <= 4; n++) {
      await postFailures(fixture, `number ${n}`);
      await waitForMails(fixture.server, email, n);
    }
    await postFailures(fixture, "number 5");
    await waitForEarlierNotices(fixture);
    const subjects = mailsTo(fixture.server, email).map((mail) => headerOf(mail, "Subject"));
    t.is(subjects.length, 4);
    t.is(subjects[2], `[${fixture.log}] failure: number 3`);
    t.regex(subjects[3]!, /^No more mail about events on \d{4}-\d\d-\d\d$/);
    t.regex(mailsTo(fixture.server, email)[3]!.text, /^3 mails about events were sent to you/);
  });

  test(`${name}: the daily limit survives a restart, and is reset at midnight`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const midnight_ms = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    let behind_ms = Date.now() - midnight_ms + 3_600_000;
    const options = { dailyLimit: 1, now: () => Date.now() - behind_ms };
    const first = await startMailing(t, fixture, options);
    await postFailures(fixture, "number 1");
    await waitForMails(fixture.server, email, 1);
    await postFailures(fixture, "number 2");
    await waitForMails(fixture.server, email, 2);
    await first.close();
    const second = await startMailing(t, fixture, options);
    await postFailures(fixture, "number 3");
    await waitForEarlierNotices(fixture);
    t.is(mailsTo(fixture.server, email).length, 2, "spent, and said so");
    await postFailures(fixture, "number 4");
    // All notices must have passed both before the restart: a clock set forward wakes no timer, so
    // the next day begins with a start.
    await caughtUp(fixture.pipeline);
    await caughtUp(second);
    await second.close();
    behind_ms = 0;
    const third = await startMailing(t, fixture, options);
    const subjects = (await waitForMails(fixture.server, email, 3)).map((mail) => headerOf(mail, "Subject"));
    t.is(subjects[0], `[${fixture.log}] failure: number 1`);
    t.regex(subjects[1]!, /^No more mail/);
    t.regex(subjects[2]!, /failure: 4 events: number 2$/);
    await third.close();
  });

  test(`${name}: an unreachable mail server delays no event, and pending notices are mailed once`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const { port } = fixture.server;
    await fixture.server.close();
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "first");
    await until(() => notifier.stats().sends.unavailable >= 3, { what: "three attempts" });
    await postFailures(fixture, "second", "third");
    await caughtUp(fixture.pipeline);
    await until(() => notifier.stats().notices === 3, { what: "all notices" });
    // Another process may have taken the port for a while.
    const server = await until(() => startSmtpServer(t, { port }), { what: "the server's port" });
    const [mail] = await waitForMails(server, email, 1);
    await waitForEarlierNotices({ ...fixture, server });
    t.is(mailsTo(server, email).filter(({ text }) => text.includes("first")).length, 1);
    t.is(headerOf(mail!, "Subject"), `[${fixture.log}] failure: 3 events: first`);
    t.deepEqual(notifier.stats().sends.unknown, 0);
  });

  test(`${name}: a mail server that hangs delays neither events nor notices`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const { promise: released, resolve: release } = Promise.withResolvers<null>();
    fixture.server.rule = (command) => (command === "." ? released : null);
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "first");
    await waitForMails(fixture.server, email, 1);
    await postFailures(fixture, ...Array.from({ length: 500 }, (_, i) => `meanwhile ${i}`));
    await caughtUp(fixture.pipeline);
    await until(() => notifier.stats().notices === 501, { what: "all notices" });
    t.is(notifier.stats().sends.sent, 0, "still on its way");
    release(null);
    const mails = await waitForMails(fixture.server, email, 2);
    t.is(headerOf(mails[1]!, "Subject"), `[${fixture.log}] failure: 500 events: meanwhile 0`);
  });

  test(`${name}: a temporarily refused mailbox is retried, and others get their mail`, async (t) => {
    const fixture = await open(t);
    const ann = await addReader(fixture);
    let greylisted = 2;
    fixture.server.rule = (command) => (command === `RCPT TO:<${ann.email}>` && greylisted-- > 0 ? "450 later" : null);
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "only once");
    const [mail] = await waitForMails(fixture.server, ann.email, 1);
    await until(() => notifier.stats().sends.sent === 1, { what: "the outcome" });
    t.is(notifier.stats().sends.deferred, 2);
    t.is(headerOf(mail!, "Subject"), `[${fixture.log}] failure: only once`);
  });

  test(`${name}: a mail that the server refuses permanently is dropped, and the next is sent`, async (t) => {
    const fixture = await open(t);
    const ann = await addReader(fixture);
    fixture.server.rule = (command) => (command === "." ? "554 spam" : null);
    const notifier = await startMailing(t, fixture);
    await postFailures(fixture, "refused");
    await until(() => notifier.stats().sends.refused === 1, { what: "the refusal" });
    fixture.server.rule = () => null;
    await postFailures(fixture, "welcome");
    const mails = await waitForMails(fixture.server, ann.email, 2);
    t.is(headerOf(mails[1]!, "Subject"), `[${fixture.log}] failure: welcome`);
  });

  test(`${name}: nothing is mailed while the state is unreachable, and then once`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    let away = false;
    let refused = 0;
    const refuse = (): void => {
      if (!away) return;
      refused += 1;
      throw new LoggiaError("store_unavailable", "away");
    };
    const documents: typeof fixture.documents = {
      ...fixture.documents,
      read: async (id) => (refuse(), fixture.documents.read(id)),
      replace: async (...given) => (refuse(), fixture.documents.replace(...given)),
    };
    // The state becomes unreachable while a mail is being sent, so its outcome cannot be stored.
    fixture.server.rule = (command) => {
      if (command === ".") away = true;
      return null;
    };
    const notifier = await startMailing(t, { ...fixture, documents });
    await postFailures(fixture, "first");
    await waitForMails(fixture.server, email, 1);
    await postFailures(fixture, "second");
    await until(() => refused >= 4, { what: "some attempts" });
    t.is(fixture.server.mails.length, 1);
    fixture.server.rule = () => null;
    away = false;
    const mails = await waitForMails(fixture.server, email, 2);
    await until(() => notifier.stats().sends.sent === 2, { what: "both outcomes" });
    t.is(headerOf(mails[1]!, "Subject"), `[${fixture.log}] failure: second`);
    t.notRegex(mails[1]!.text, /may not have reached you/);
  });

  test(`${name}: after a restart, pending notices are mailed, and none twice`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const first = await startMailing(t, fixture);
    await postFailures(fixture, "before");
    await waitForMails(fixture.server, email, 1);
    await first.close();
    const second = await startMailing(t, fixture, { collect_ms: 60_000 });
    await postFailures(fixture, "pending");
    await until(() => second.stats().notices === 1, { what: "the notice" });
    await second.close();
    t.is(mailsTo(fixture.server, email).length, 1);
    await startMailing(t, fixture);
    const mails = await waitForMails(fixture.server, email, 2);
    t.deepEqual(
      mails.map((mail) => headerOf(mail, "Subject")),
      [`[${fixture.log}] failure: before`, `[${fixture.log}] failure: pending`],
    );
  });

  test(`${name}: of two processes about to mail the same digest, one does`, async (t) => {
    const fixture = await open(t);
    const { id, email } = await addReader(fixture);
    const began = Promise.withResolvers<null>();
    const release = Promise.withResolvers<null>();
    fixture.server.rule = (command) => {
      if (command !== ".") return null;
      began.resolve(null);
      return release.promise;
    };
    // The first waits until the second has read the digest too, so that both are about to mail it.
    const joined = Promise.withResolvers<null>();
    const waiting: typeof fixture.documents = {
      ...fixture.documents,
      read: async (document) => {
        if (document.startsWith("allowance/")) await joined.promise;
        return fixture.documents.read(document);
      },
    };
    const now = eveningClock();
    const first = await startMailing(t, { ...fixture, documents: waiting }, { now });
    await postFailures(fixture, "shared");
    await until(() => first.stats().notices === 1, { what: "the notice" });
    // A second owner of the same partitions, unknown to the first: it reads the digest, and
    // continues when the first has started to send.
    let writes = 0;
    const documents: typeof fixture.documents = {
      ...fixture.documents,
      read: async (document) => {
        if (document.startsWith("allowance/")) {
          joined.resolve(null);
          await began.promise;
        }
        return fixture.documents.read(document);
      },
      replace: async (...given) => {
        const written = await fixture.documents.replace(...given);
        writes += 1;
        return written;
      },
    };
    const bus = overBus(fixture.ports.bus, {
      subscribe: async (options) => {
        for (let partition = 0; partition < 2; partition++) await options.from?.(partition);
        return { close: async () => {}, done: new Promise(() => {}), fault: () => null };
      },
    });
    const second = await startMailing(
      t,
      { ...fixture, documents, ports: { ...fixture.ports, bus } },
      { collect_ms: 0, now },
    );
    await until(() => writes === 2 || fixture.server.mails.length === 2, {
      what: "the second process to take a mail of the day and return it",
    });
    release.resolve(null);
    await until(() => first.stats().sends.sent === 1, { what: "the outcome" });
    await second.close();
    t.is(mailsTo(fixture.server, email).length, 1);
    t.is(second.stats().sends.sent, 0);
    t.is((await fixture.documents.read(`allowance/${id}`))?.body?.["count"], 1);
  });

  test(`${name}: users who lost access or unsubscribed get no mail about pending notices`, async (t) => {
    const fixture = await open(t);
    const { catalog } = fixture.ports;
    const [gone, removed, quiet, stays] = [
      await addReader(fixture),
      await addReader(fixture),
      await addReader(fixture),
      await addReader(fixture),
    ];
    const first = await startMailing(t, fixture, { collect_ms: 60_000 });
    await postFailures(fixture, "confidential");
    await until(() => first.stats().notices === 1, { what: "the notice" });
    await first.close();
    await catalog.unshare(fixture.log, gone.email);
    await catalog.deleteAccount(removed.email);
    await catalog.setClassOptions(quiet.id, fixture.log, "failure", QUIET);
    const notifier = await startMailing(t, fixture);
    await waitForMails(fixture.server, stays.email, 1);
    await until(() => notifier.stats().sends.dropped === 3, { what: "three dropped digests" });
    t.deepEqual(
      fixture.server.mails.map(({ to }) => to),
      [[stays.email]],
    );
    await catalog.share(fixture.log, gone.email, "user");
    await waitForEarlierNotices(fixture);
    const later = mailsTo(fixture.server, gone.email);
    t.true(later.every(({ text }) => !text.includes("confidential")));
  });

  test(`${name}: texts of producers stay in the lines of the body`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    await startMailing(t, fixture);
    const text =
      "x\r\nBcc: victim@example.com\r\nSubject: mine\r\n\r\n.\r\nMAIL FROM:<evil@example.com>\u001b[31m\u202etxt";
    await post(fixture.ports.bus, [accept(fixture.log, { text, source: "s\r\n.\r\nQUIT", tags: ["error"] })]);
    const [mail] = await waitForMails(fixture.server, email, 1);
    t.deepEqual(
      mail!.headers.map(([header]) => header).toSorted(),
      [
        "Auto-Submitted",
        "Content-Transfer-Encoding",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
      ].concat(["Subject", "To", "X-Auto-Response-Suppress"]),
    );
    t.is(
      headerOf(mail!, "Subject").startsWith(`[${fixture.log}] failure: x Bcc: victim@example.com Subject: mine .`),
      true,
    );
    t.deepEqual(mail!.to, [email]);
    t.regex(
      mail!.text,
      /UTC {2}s \. QUIT: {2}x Bcc: victim@example\.com Subject: mine \. MAIL FROM:<evil@example\.com> \[31m txt\n/,
    );
    t.is(fixture.server.mails.length, 1);
  });

  test(`${name}: events of days ago are not mailed`, async (t) => {
    const fixture = await open(t);
    const { email } = await addReader(fixture);
    const old = createIdSource({ now: () => Date.now() - 25 * 3_600_000 })();
    await startMailing(t, fixture);
    await post(fixture.ports.bus, [accept(fixture.log, { ...old, text: "long ago", tags: ["error"] })]);
    await postFailures(fixture, "now");
    const mails = await waitForMails(fixture.server, email, 1);
    t.is(headerOf(mails[0]!, "Subject"), `[${fixture.log}] failure: now`);
  });
}
