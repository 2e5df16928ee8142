import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";

import { StartError } from "../../../src/errors.ts";
import type { SettingRow } from "../../../src/settings/setting.ts";
import { invalidSetting } from "../../../src/settings/values.ts";
import type { Channel, ChannelMessage, ChannelSender, SendOutcome } from "./channel.ts";

// prettier-ignore
const SETTINGS = {
  server: { name: "LOGGIA_SMTP", standard: "", help: "mail server for notifications, smtp(s)://user:password@host:port", secret: true },
  from: { name: "LOGGIA_MAIL_FROM", standard: "", help: "sender of notifications, such as Loggia <loggia@example.org>" },
} as const satisfies Readonly<Record<string, SettingRow>>;

/** The address of one person. */
type MailTarget = { readonly to: string };

export type SmtpOptions = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (`smtps:`). Otherwise STARTTLS, if the server offers it. */
  readonly secure: boolean;
  readonly credentials: { readonly user: string; readonly password: string } | null;
  /** The sender. An empty name sends the address only. */
  readonly from: { readonly name: string; readonly address: string };
  /** Longest duration of one mail, from the connection to the last reply. */
  readonly deadline_ms?: number;
};

/** Exactly one address, without characters that could add a recipient or a header. */
const ADDRESS = /^[^\s<>,;:"()[\]\\\p{Cc}]+@[^\s<>,;:"()[\]\\\p{Cc}@]+$/u;
const DEADLINE_MS = 60_000;
/** Longest time until the server's greeting. Later replies are limited by the deadline only. */
const CONNECT_TIMEOUT_MS = 15_000;
const QUIT_TIMEOUT_MS = 1_000;

/** Plain text through an SMTP server, to the address of an account. */
export const MAIL: Channel<MailTarget> = {
  kind: "mail",
  noun: { one: "mail", more: "mail" },
  settings: Object.values(SETTINGS),
  configure: (valueOf) => {
    const options = readMail(valueOf(SETTINGS.server), valueOf(SETTINGS.from));
    return options === null ? null : createMailSender(options);
  },
  targetOf: ({ email }) => ({ to: email }),
  check: ({ to }) => (ADDRESS.test(to) ? null : "to is not an e-mail address, such as ann@example.org"),
};

/**
 * Creates a sender with a connection for each mail. The Message-ID derives from the name of the
 * message. Credentials are never sent in clear text over a network: with any other host than this
 * machine they require TLS, from the first byte or by STARTTLS.
 */
export function createMailSender(options: SmtpOptions): ChannelSender<MailTarget> {
  const { deadline_ms = DEADLINE_MS, credentials } = options;
  return {
    deadline_ms,
    secrets: credentials === null ? [] : [credentials.password],
    send: (message, target) => sendMail({ ...message, ...target }, options, deadline_ms),
  };
}

/** Reads the settings of mail, which need each other; null: no mail is sent. */
export function readMail(server: string, from: string): SmtpOptions | null {
  if (server === "" && from === "") return null;
  if (server === "" || from === "") {
    const [set, missing] =
      server === "" ? ["LOGGIA_MAIL_FROM", "LOGGIA_SMTP"] : ["LOGGIA_SMTP (or LOGGIA_SMTP_FILE)", "LOGGIA_MAIL_FROM"];
    throw new StartError(`${set} is set and ${missing} is not; mail needs both`);
  }
  const sender = /^(?:([^<>\p{Cc}]*)<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s]+@[^<>@\s]+))$/u.exec(from);
  if (sender === null)
    throw invalidSetting("LOGGIA_MAIL_FROM", from, "loggia@example.org or Loggia <loggia@example.org>");
  const name = (sender[1] ?? "").trim().replace(/^"(.*)"$/, "$1");
  return { ...readMailServer(server), from: { name, address: sender[2] ?? sender[3] ?? "" } };
}

/** Parses `LOGGIA_SMTP`. The value is a secret, so errors show the syntax only. */
function readMailServer(server: string): Omit<SmtpOptions, "from"> {
  const allowed = "LOGGIA_SMTP must be smtp://host:port or smtps://host:port, with user:password@ if it needs them";
  const url = URL.parse(server);
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") throw new StartError(allowed);
  if (!/^\/?$/.test(url.pathname) || url.search !== "" || url.hash !== "") throw new StartError(allowed);
  if ((url.username === "") !== (url.password === ""))
    throw new StartError("LOGGIA_SMTP has a user or a password only; set both or neither");
  const secure = url.protocol === "smtps:";
  try {
    const user = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    return {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
      secure,
      credentials: user === "" ? null : { user, password },
    };
  } catch (error) {
    throw new StartError("LOGGIA_SMTP has a % that is not followed by two hex digits; write it as %25", {
      cause: error,
    });
  }
}

type Mail = ChannelMessage & MailTarget;

async function sendMail(mail: Mail, options: SmtpOptions, deadline_ms: number): Promise<SendOutcome> {
  const connection = new SMTPConnection(connectionOptions(options, deadline_ms));
  /** Whether any data was sent: from then on only the server's reply shows the outcome. */
  let isDataSent = false;
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {});
  connection.on("error", fail);
  connection.on("end", () => fail(new Error("the connection ended")));
  const timer = setTimeout(() => fail(new Error(`not sent within ${deadline_ms} ms`)), deadline_ms);
  const withDeadline = <T>(step: Promise<T>): Promise<T> => Promise.race([step, failed]);
  try {
    const message = composeMail(mail, options.from);
    const bytes = await message.build();
    await withDeadline(call<void>((done) => connection.connect((error) => done(error ?? null))));
    if (options.credentials !== null) {
      const { user, password: pass } = options.credentials;
      await withDeadline(call((done) => connection.login({ user, pass }, done)));
    }
    const stream = streamOf(bytes, () => {
      isDataSent = true;
    });
    await withDeadline(call((done) => connection.send({ ...message.getEnvelope(), size: bytes.length }, stream, done)));
    connection.quit();
    setTimeout(() => connection.close(), QUIT_TIMEOUT_MS).unref();
    return { kind: "sent" };
  } catch (error) {
    connection.close();
    return outcomeOf(error, isDataSent);
  } finally {
    clearTimeout(timer);
  }
}

function connectionOptions({ host, port, secure, credentials }: SmtpOptions, deadline_ms: number) {
  const isLocal = isLoopback(host);
  return {
    host,
    port,
    secure,
    requireTLS: !secure && credentials !== null && !isLocal,
    // A relay on this machine often has a self-signed certificate, and the connection to it needs
    // no protection.
    ignoreTLS: !secure && isLocal,
    connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    greetingTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    dnsTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    socketTimeout: deadline_ms,
    logger: false,
  };
}

/** Whether a host name or address is a loopback address of this machine. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function composeMail({ to, subject, text, name, date_ms }: Mail, from: SmtpOptions["from"]) {
  return new MailComposer({
    from,
    to: { name: "", address: to },
    subject: subject.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " "),
    text,
    messageId: messageIdOf(name, from.address),
    date: new Date(date_ms),
    // Suppresses automatic replies such as out-of-office notices.
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
}

function messageIdOf(name: string, from: string): string {
  const localPart = createHash("sha256").update(name).digest("hex").slice(0, 40);
  return `<${localPart}@${from.slice(from.lastIndexOf("@") + 1)}>`;
}

/** Returns a stream of `bytes` that calls `onRead` when it is first read. */
function streamOf(bytes: Buffer, onRead: () => void): Readable {
  return new Readable({
    read() {
      onRead();
      this.push(bytes);
      this.push(null);
    },
  });
}

/** Converts a callback to a promise. */
function call<T>(step: (done: (error: Error | null, result?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    step((error, result) => {
      if (error) reject(error);
      else resolve(result as T);
    });
  });
}

type SmtpError = { readonly message: string; readonly responseCode?: number; readonly command?: string; code?: string };

/**
 * Returns the outcome of a failed attempt: by the server's reply code if there is one, otherwise by
 * whether any data was sent.
 */
function outcomeOf(error: unknown, isDataSent: boolean): SendOutcome {
  const { message, responseCode = 0, command = "", code = "" } = error as SmtpError;
  const reason = message.replaceAll(/\s+/g, " ").slice(0, 500);
  if (responseCode === 0 && isDataSent) return { kind: "unknown", reason };
  const isAboutMail = command === "DATA" || command.startsWith("RCPT");
  if (isAboutMail && responseCode >= 500) return { kind: "refused", reason };
  if (isAboutMail && responseCode >= 400 && responseCode !== 421) return { kind: "deferred", reason };
  // Found by the client before the transaction: an address that SMTP does not allow, or a message
  // beyond the server's size limit.
  if (responseCode === 0 && (code === "EMESSAGE" || (code === "EENVELOPE" && command === "API"))) {
    return { kind: "refused", reason };
  }
  return { kind: "unavailable", reason };
}
