import test, { type ExecutionContext } from "ava";

import type { ChannelMessage, SendOutcome } from "../../../../pipelines/notify/channels/channel.ts";
import { createMailSender, MAIL, type SmtpOptions } from "../../../../pipelines/notify/channels/mail.ts";
import { openChannel } from "../../../../pipelines/notify/channels/open-channel.ts";
import { headerOf, startSmtpServer, type SmtpServer } from "../../../support/smtp.ts";
import { until } from "../../../support/until.ts";

const TO = { email: "ann@example.org" };
const MESSAGE: ChannelMessage = {
  subject: "[shop] failure: Disk full",
  text: "Disk full\n.\nGrüße\n",
  name: "digest/shop/failure/1",
  date_ms: 1_308_491_673_911,
};

function channelTo({ port }: { port: number }, options: Partial<SmtpOptions> = {}) {
  const from = { name: "Loggia", address: "loggia@example.net" };
  const sender = createMailSender({ host: "127.0.0.1", port, secure: false, credentials: null, from, ...options });
  return openChannel(MAIL, sender);
}

test("a mail is received as written, under the same Message-ID each time", async (t) => {
  const server = await startSmtpServer(t);
  const channel = channelTo(server, { credentials: { user: "loggia", password: "p:w" } });
  t.deepEqual(await channel.send(MESSAGE, TO), { kind: "sent" });
  t.deepEqual(await channel.send(MESSAGE, TO), { kind: "sent" });
  t.deepEqual(await channel.send({ ...MESSAGE, name: "another" }, TO), { kind: "sent" });
  const [first, again, other] = server.mails;
  t.like(first, { from: "loggia@example.net", to: ["ann@example.org"], text: MESSAGE.text.trimEnd() });
  t.is(headerOf(first!, "From"), "Loggia <loggia@example.net>");
  t.is(headerOf(first!, "To"), "ann@example.org");
  t.is(headerOf(first!, "Subject"), MESSAGE.subject);
  t.is(headerOf(first!, "Auto-Submitted"), "auto-generated");
  t.is(Date.parse(headerOf(first!, "Date")), 1_308_491_673_000);
  t.regex(headerOf(first!, "Message-ID"), /^<[0-9a-f]{40}@example\.net>$/);
  t.is(headerOf(again!, "Message-ID"), headerOf(first!, "Message-ID"));
  t.not(headerOf(other!, "Message-ID"), headerOf(first!, "Message-ID"));
  const login = server.commands.find((command) => command.startsWith("AUTH PLAIN"));
  t.is(Buffer.from(login!.slice("AUTH PLAIN ".length), "base64").toString(), "\0loggia\0p:w");
});

const INJECTIONS = [
  "x\r\nBcc: victim@example.com",
  "x\nBcc: victim@example.com\n\nbody",
  "x\rBcc: victim@example.com",
  "x\u2028Bcc: victim@example.com",
  "x\u0000\u0085Bcc: victim@example.com",
  `${"long ".repeat(100)}\r\nBcc: victim@example.com`,
  "=?utf-8?q?x=0D=0ABcc:_victim@example.com?=",
];

test("no subject adds a header or a recipient to a mail", async (t) => {
  const server = await startSmtpServer(t);
  await channelTo(server).send(MESSAGE, TO);
  const names = server.mails[0]!.headers.map(([name]) => name);
  for (const subject of INJECTIONS) {
    t.deepEqual(await channelTo(server).send({ ...MESSAGE, subject }, TO), { kind: "sent" });
    const mail = server.mails.at(-1)!;
    t.deepEqual(
      mail.headers.map(([name]) => name),
      names,
      JSON.stringify(subject),
    );
    t.deepEqual(mail.to, ["ann@example.org"]);
    t.is(mail.text, MESSAGE.text.trimEnd());
  }
});

test("an address is one recipient or none", async (t) => {
  const server = await startSmtpServer(t);
  const bad = [
    "a@example.org\r\nRCPT TO:<b@example.org>",
    "a@example.org>\r\nDATA",
    "",
    "<>",
    "a@example.org, b@example.org",
  ];
  for (const email of bad) {
    const outcome = await channelTo(server).send(MESSAGE, { email });
    t.like(outcome, { kind: "refused", reason: "to is not an e-mail address, such as ann@example.org" }, email);
  }
  t.deepEqual(server.commands, []);
  t.deepEqual(await channelTo(server).send(MESSAGE, { email: "ann+x@exämple.org" }), { kind: "sent" });
  t.deepEqual(server.mails[0]?.to, ["ann+x@xn--exmple-cua.org"]);
});

/** Outcomes of a mail by the reply to a command. */
const OUTCOMES: readonly [command: string, reply: string, kind: SendOutcome["kind"]][] = [
  ["EHLO", "close", "unavailable"],
  ["EHLO", "421 too busy", "unavailable"],
  ["AUTH", "535 wrong password", "unavailable"],
  ["MAIL", "451 slow down", "unavailable"],
  ["MAIL", "550 no such sender", "unavailable"],
  ["RCPT", "450 greylisted", "deferred"],
  ["RCPT", "421 closing", "unavailable"],
  ["RCPT", "550 no such user", "refused"],
  ["RCPT", "close", "unavailable"],
  ["DATA", "451 not now", "deferred"],
  ["DATA", "close", "unavailable"],
  [".", "452 mailbox full", "deferred"],
  [".", "554 spam", "refused"],
  [".", "421 closing", "unavailable"],
  [".", "close", "unknown"],
  [".", "nonsense", "unknown"],
];

for (const [at, reply, kind] of OUTCOMES) {
  test(`${at} replied to with ${reply}: ${kind}`, async (t) => {
    const server = await startSmtpServer(t, { rule: (command) => (command.startsWith(at) ? reply : null) });
    const outcome = await channelTo(server, { credentials: { user: "u", password: "p" } }).send(MESSAGE, TO);
    t.is(outcome.kind, kind, JSON.stringify(outcome));
    await assertNextMailIsSent(t, server);
  });
}

/** Checks that the previous mail does not affect the next one. */
async function assertNextMailIsSent(t: ExecutionContext, server: SmtpServer): Promise<void> {
  server.rule = () => null;
  t.deepEqual(await channelTo(server).send(MESSAGE, TO), { kind: "sent" });
}

test("no server listens: unavailable", async (t) => {
  // Nothing listens on port 1 of this machine.
  t.is((await channelTo({ port: 1 }).send(MESSAGE, TO)).kind, "unavailable");
});

test("a server that does not reply in time: unavailable before the mail was handed over, unknown after", async (t) => {
  const server = await startSmtpServer(t);
  const never = new Promise<null>(() => {});
  for (const [at, kind] of [
    ["EHLO", "unavailable"],
    ["RCPT", "unavailable"],
    [".", "unknown"],
  ] as const) {
    server.rule = (command) => (command.startsWith(at) ? never : null);
    const send = (deadline_ms: number) => channelTo(server, { deadline_ms }).send(MESSAGE, TO);
    let outcome = await send(1_000);
    // On a slow machine the deadline may pass before the mail is handed over.
    const isEarly = () => at === "." && outcome.kind === "unavailable";
    for (let deadline_ms = 2_000; isEarly() && deadline_ms < 60_000; deadline_ms *= 2)
      outcome = await send(deadline_ms);
    t.is(outcome.kind, kind);
  }
});

test("a password never leaves the machine without TLS", async (t) => {
  const server = await startSmtpServer(t);
  // The wildcard address reaches this machine but is not one of the exempted names.
  const channel = channelTo(server, { host: "0.0.0.0", credentials: { user: "u", password: "p" } });
  t.is((await channel.send(MESSAGE, TO)).kind, "unavailable");
  await until(() => server.commands.length > 0, { what: "the attempt" });
  t.false(server.commands.some((command) => command.startsWith("AUTH")));
});
