import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";

import type { Mail, Mailer, MailOutcome } from "./mail.ts";

export type SmtpOptions = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. Otherwise STARTTLS, where the server offers it. */
  readonly secure: boolean;
  readonly credentials: { readonly user: string; readonly password: string } | null;
  /** The sender: an address, or `Name <address>` taken apart. */
  readonly from: { readonly name: string; readonly address: string };
  /** How long one mail may take from the connection to the last answer. */
  readonly deadline_ms?: number;
};

/** One address, and nothing that could be taken for more than that. */
const ADDRESS = /^[^\s<>,;:"()[\]\\\p{Cc}]+@[^\s<>,;:"()[\]\\\p{Cc}@]+$/u;
const DEADLINE_MS = 60_000;
/** How long a server may take to answer at all; a slow one only has to keep below the deadline. */
const CONNECT_TIMEOUT_MS = 15_000;
const QUIT_TIMEOUT_MS = 1_000;

/**
 * Mails through an SMTP server, a connection for each mail. Credentials never cross a network in
 * clear text: towards any host but this machine itself they need TLS, from the start or by
 * STARTTLS.
 */
export function createSmtpMailer(options: SmtpOptions): Mailer {
  const { deadline_ms = DEADLINE_MS } = options;
  return {
    deadline_ms,
    send: async (mail) => {
      if (!ADDRESS.test(mail.to)) return { kind: "refused", reason: "the address is none that a mail can be sent to" };
      return sendMail(mail, options, deadline_ms);
    },
  };
}

async function sendMail(mail: Mail, options: SmtpOptions, deadline_ms: number): Promise<MailOutcome> {
  const connection = new SMTPConnection(connectionOptions(options, deadline_ms));
  /**
   * Whether the server has been given any of the message: from then on only its answer tells
   * whether it took the mail.
   */
  let handed = false;
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  broken.catch(() => {});
  connection.on("error", fail);
  connection.on("end", () => fail(new Error("the connection ended")));
  const timer = setTimeout(() => fail(new Error(`no end after ${deadline_ms} ms`)), deadline_ms);
  const within = <T>(step: Promise<T>): Promise<T> => Promise.race([step, broken]);
  try {
    const message = composeMail(mail, options.from);
    const bytes = await message.build();
    await within(call<void>((done) => connection.connect((error) => done(error ?? null))));
    if (options.credentials !== null) {
      const { user, password: pass } = options.credentials;
      await within(call((done) => connection.login({ user, pass }, done)));
    }
    const stream = streamOf(bytes, () => {
      handed = true;
    });
    await within(call((done) => connection.send({ ...message.getEnvelope(), size: bytes.length }, stream, done)));
    connection.quit();
    setTimeout(() => connection.close(), QUIT_TIMEOUT_MS).unref();
    return { kind: "sent" };
  } catch (error) {
    connection.close();
    return judge(error, handed);
  } finally {
    clearTimeout(timer);
  }
}

function connectionOptions({ host, port, secure, credentials }: SmtpOptions, deadline_ms: number) {
  const local = isLoopback(host);
  return {
    host,
    port,
    secure,
    requireTLS: !secure && credentials !== null && !local,
    // A relay on this machine often has a certificate that nobody signed; there is nothing to protect on the way to it.
    ignoreTLS: !secure && local,
    connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    greetingTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    dnsTimeout: Math.min(CONNECT_TIMEOUT_MS, deadline_ms),
    socketTimeout: deadline_ms,
    logger: false,
  };
}

/** Whether a host name or address is this machine itself. */
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
    // Machines should not answer, and no absence notice should come back.
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
}

function messageIdOf(name: string, from: string): string {
  const left = createHash("sha256").update(name).digest("hex").slice(0, 40);
  return `<${left}@${from.slice(from.lastIndexOf("@") + 1)}>`;
}

/** A stream that tells when it is first read. */
function streamOf(bytes: Buffer, started: () => void): Readable {
  return new Readable({
    read() {
      started();
      this.push(bytes);
      this.push(null);
    },
  });
}

function call<T>(step: (done: (error: Error | null, result?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    step((error, result) => {
      if (error) reject(error);
      else resolve(result as T);
    });
  });
}

type SmtpError = { readonly message: string; readonly responseCode?: number; readonly command?: string; code?: string };

/** What became of a mail whose sending failed. The server's word counts; without one, how far the mail had come. */
function judge(error: unknown, handed: boolean): MailOutcome {
  const { message, responseCode = 0, command = "", code = "" } = error as SmtpError;
  const reason = message.replaceAll(/\s+/g, " ").slice(0, 500);
  if (responseCode === 0 && handed) return { kind: "unknown", reason };
  const isAboutMail = command === "DATA" || command.startsWith("RCPT");
  if (isAboutMail && responseCode >= 500) return { kind: "refused", reason };
  if (isAboutMail && responseCode >= 400 && responseCode !== 421) return { kind: "deferred", reason };
  // Found out before anything was said: an address that SMTP cannot carry, or a message larger than the server takes.
  if (responseCode === 0 && (code === "EMESSAGE" || (code === "EENVELOPE" && command === "API"))) {
    return { kind: "refused", reason };
  }
  return { kind: "unavailable", reason };
}
