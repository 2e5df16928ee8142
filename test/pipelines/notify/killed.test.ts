import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import test from "ava";
import { pino } from "pino";

import { killAfterExit } from "../../../infra/engines/guard.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { headerOf, startSmtpServer } from "../../support/smtp.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { classFilter, makeLog, openEmbedded } from "../fixture.ts";
import { addReader, postFailures, mailsTo, waitForMails, startMailing, startNoticePipeline } from "./fixture.ts";

/** Deadline of the killed process's mail. After twice this time, it counts as sent. */
const DEADLINE_MS = 60_000;

/**
 * Where a process is killed while it sends a mail, and whether the server had received the mail by
 * then.
 */
const MOMENTS = [
  { at: "RCPT", arrived: false },
  { at: ".", arrived: true },
] as const;

for (const { at, arrived } of MOMENTS) {
  test(`killed when the server receives ${at}, a process mails nothing twice, and the next says so`, async (t) => {
    const folder = temporaryFolder(t);
    const { log, email } = await (async () => {
      await using ports = await openEmbedded(folder);
      const { log } = await makeLog(ports.catalog);
      await ports.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
      const { email } = await addReader({ ports, log });
      await postFailures({ ports, log }, "first", "second");
      return { log, email };
    })();

    const server = await startSmtpServer(t);
    const process_file = join(import.meta.dirname, "./process.ts");
    const child = spawn(process.execPath, [process_file, folder, String(server.port), String(DEADLINE_MS)], {
      stdio: "inherit",
    });
    killAfterExit(child);
    server.rule = (command) => {
      if (!command.startsWith(at)) return null;
      child.kill("SIGKILL");
      return "close";
    };
    await once(child, "close");
    t.is(child.signalCode, "SIGKILL");
    t.is(mailsTo(server, email).length, arrived ? 1 : 0);
    server.rule = () => null;

    const ports = await openEmbedded(folder);
    t.teardown(() => ports[Symbol.asyncDispose]());
    const documents = await openSqliteDocuments({ file: join(folder, "notifications.sqlite") });
    t.teardown(() => documents[Symbol.asyncDispose]());
    const pipeline = await startNoticePipeline(t, ports);
    const said: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line: string) => void said.push(line) });
    const now = () => Date.now() + 2 * DEADLINE_MS;
    await startMailing(t, { ports, documents, server, pipeline, log }, { log: logger, now });
    await postFailures({ ports, log }, "third");
    const mails = await waitForMails(server, email, arrived ? 2 : 1);
    t.is(mails.length, arrived ? 2 : 1);
    const last = mails.at(-1)!;
    t.is(headerOf(last, "Subject"), `[${log}] failure: third`);
    t.regex(last.text, /An earlier mail about 2 events may not have reached you\./);
    if (arrived) t.not(headerOf(mails[0]!, "Message-ID"), headerOf(last, "Message-ID"));
    t.true(said.some((line) => line.includes("a process ended while sending a mail; it counts as sent")));
  });
}
