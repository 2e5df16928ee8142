import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

/** A mail that the server received, whether or not it was acknowledged. */
export type ReceivedMail = {
  readonly from: string;
  readonly to: readonly string[];
  /** In the order received; names as sent, unfolded, values decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly raw: string;
  /** Time of receipt by `performance.now()`. */
  readonly at_ms: number;
};

/**
 * Overrides the reply to a command. null: the usual reply; "close": close the connection. `.`
 * stands for the end of a mail.
 */
export type Rule = (command: string) => string | null | Promise<string | null>;

export type SmtpServer = {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** The commands of all connections. */
  readonly commands: readonly string[];
  rule: Rule;
  close(): Promise<void>;
};

/**
 * Starts a mail server on a port of 127.0.0.1, closed with the test. It accepts every mail unless
 * its rule says otherwise.
 */
export async function startSmtpServer(
  t: Pick<ExecutionContext, "teardown">,
  options: { port?: number; rule?: Rule } = {},
): Promise<SmtpServer> {
  const mails: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    // A client that hangs up with a reply unread resets the connection, which ends the loop.
    serve(socket, server, mails, commands).catch((error: unknown) => {
      if (socket.errored === null) throw error;
    });
  });
  listener.listen(options.port ?? 0, "127.0.0.1");
  await once(listener, "listening");
  const server: SmtpServer = {
    port: (listener.address() as AddressInfo).port,
    mails,
    commands,
    rule: options.rule ?? (() => null),
    async close() {
      for (const socket of sockets) socket.destroy();
      if (!listener.listening) return;
      listener.close();
      await once(listener, "close");
    },
  };
  t.teardown(() => server.close());
  return server;
}

async function serve(socket: Socket, server: SmtpServer, mails: ReceivedMail[], commands: string[]): Promise<void> {
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  /** Null while commands are expected; otherwise the lines of the mail so far. */
  let data: string[] | null = null;
  let from = "";
  let to: string[] = [];
  say("220 test.example ESMTP");
  // It emits the errors of its socket too, also after the loop has ended.
  const lines = createInterface({ input: socket, crlfDelay: Infinity }).on("error", () => {});
  for await (const line of lines) {
    if (data !== null && line !== ".") {
      data.push(line.startsWith(".") ? line.slice(1) : line);
      continue;
    }
    if (data === null && line.startsWith("MAIL FROM:")) from = addressIn(line);
    if (data === null && line.startsWith("MAIL FROM:")) to = [];
    if (data === null && line.startsWith("RCPT TO:")) to.push(addressIn(line));
    if (data !== null) mails.push(parse(data, from, to));
    data = null;
    commands.push(line);
    const answer = (await server.rule(line)) ?? usualAnswer(line);
    if (answer === "close") return void socket.destroy();
    say(answer);
    if (answer.startsWith("354")) data = [];
    if (answer.startsWith("221")) return void socket.end();
  }
}

function usualAnswer(command: string): string {
  if (command.startsWith("EHLO")) return "250-test.example\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN";
  if (command.startsWith("AUTH")) return "235 welcome";
  if (command === "DATA") return "354 go on";
  if (command === "QUIT") return "221 bye";
  return "250 ok";
}

function addressIn(line: string): string {
  return /<(.*?)>/.exec(line)?.[1] ?? "";
}

function parse(lines: readonly string[], from: string, to: readonly string[]): ReceivedMail {
  const raw = lines.join("\n");
  const [head = "", ...rest] = raw.split("\n\n");
  const headers = head
    .replaceAll(/\n[ \t]+/g, " ")
    .split("\n")
    .map((line) => [line.slice(0, line.indexOf(":")), decodeWords(line.slice(line.indexOf(":") + 1).trim())] as const);
  const encoding = headers.find(([name]) => name === "Content-Transfer-Encoding")?.[1] ?? "";
  const text = decodeBody(rest.join("\n\n"), encoding);
  return { from, to: [...to], headers, text, raw, at_ms: performance.now() };
}

/** Returns the value of a header that occurs once. */
export function headerOf(mail: ReceivedMail, name: string): string {
  const values = mail.headers.filter(([other]) => other.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  if (values.length !== 1) throw new Error(`${name} stands ${values.length} times`);
  return values[0]!;
}

function decodeBody(body: string, encoding: string): string {
  if (encoding === "base64") return Buffer.from(body, "base64").toString("utf8");
  return encoding === "quoted-printable" ? decodeQuoted(body.replaceAll("=\n", "")) : body;
}

function decodeQuoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

function decodeWords(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, "?==?")
    .replaceAll(/=\?utf-8\?([qb])\?(.*?)\?=/gi, (_, kind: string, word: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(word, "base64").toString("utf8")
        : decodeQuoted(word.replaceAll("_", " ")),
    );
}
