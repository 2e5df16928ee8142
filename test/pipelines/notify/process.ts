/**
 * Runs a notifier on the embedded engines of a folder, in a process that a test can kill.
 *
 * node process.ts <folder> <port of the mail server> <deadline of a mail, in ms>
 */
import { join } from "node:path";

import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { createMailSender, MAIL } from "../../../pipelines/notify/channels/mail.ts";
import { openChannel } from "../../../pipelines/notify/channels/open-channel.ts";
import { startNotifier } from "../../../pipelines/notify/notifier.ts";
import { startPipeline } from "../../../pipelines/runner.ts";
import { openEmbedded, SILENT } from "../fixture.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const [folder = "", port = "", deadline = ""] = process.argv.slice(2);
const ports = await openEmbedded(folder);
const pipeline = await startPipeline({ ...ports, scheduler: new Scheduler(), log: SILENT, notices: true });
const notifier = await startNotifier({
  ...ports,
  documents: await openSqliteDocuments({ file: join(folder, "notifications.sqlite") }),
  channel: openChannel(
    MAIL,
    createMailSender({
      host: "127.0.0.1",
      port: Number(port),
      secure: false,
      credentials: null,
      from: { name: "", address: "loggia@example.net" },
      deadline_ms: Number(deadline),
    }),
  ),
  log: SILENT,
  collect_ms: 50,
  interval_ms: 0,
});
await Promise.all([pipeline.done, notifier.done]);
