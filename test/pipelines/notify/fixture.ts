import type { ExecutionContext } from "ava";
import { join } from "node:path";

import type { UserId, LogKey } from "../../../src/events/event.ts";
import { openElasticsearchDocuments } from "../../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import { createMailSender, MAIL, type SmtpOptions } from "../../../pipelines/notify/channels/mail.ts";
import { openChannel } from "../../../pipelines/notify/channels/open-channel.ts";
import { startNotifier, type Notifier, type NotifierOptions } from "../../../pipelines/notify/notifier.ts";
import type { StateDocuments } from "../../../pipelines/notify/state.ts";
import type { Pipeline, PipelineOptions } from "../../../pipelines/runner.ts";
import { elasticsearchUrl } from "../../support/engines.ts";
import { startSmtpServer, type ReceivedMail, type SmtpServer } from "../../support/smtp.ts";
import { temporaryFolder, uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import {
  accept,
  caughtUp,
  classFilter,
  makeLog,
  post,
  SILENT,
  start,
  type Ports,
  type EngineKind,
} from "../fixture.ts";
import { ENGINE_KINDS } from "../engine-kinds.ts";

/**
 * Everything that a mail passes through: engines, a log with a class for events tagged `error`, a
 * mail server, and a pipeline that publishes notices of such events.
 */
export type MailFixture = {
  readonly ports: Ports;
  readonly documents: StateDocuments;
  readonly server: SmtpServer;
  readonly pipeline: Pipeline;
  readonly log: LogKey;
};

export type MailFixtureKind = { readonly name: string; readonly open: (t: ExecutionContext) => Promise<MailFixture> };

async function openDocuments(t: ExecutionContext, kind: EngineKind): Promise<StateDocuments> {
  if (kind.name === "embedded") {
    const documents = await openSqliteDocuments({ file: join(temporaryFolder(t), "notifications.sqlite") });
    t.teardown(() => documents[Symbol.asyncDispose]());
    return documents;
  }
  const namespace = uniqueName("notify");
  const client = createElasticsearchClient({ nodes: [elasticsearchUrl()], log: SILENT });
  t.teardown(async () => {
    await client.indices.delete({ index: `${namespace}-notifications`, ignore_unavailable: true });
    await client.close();
  });
  return openElasticsearchDocuments({ client, namespace, name: "notifications" });
}

export const MAIL_FIXTURES: readonly MailFixtureKind[] = ENGINE_KINDS.map((kind) => ({
  name: kind.name,
  open: async (t) => {
    const ports = await kind.open(t);
    const documents = await openDocuments(t, kind);
    const server = await startSmtpServer(t);
    const { log } = await makeLog(ports.catalog);
    await ports.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
    const pipeline = await startNoticePipeline(t, ports);
    return { ports, documents, server, pipeline, log };
  },
}));

export function startNoticePipeline(
  t: ExecutionContext,
  ports: Ports,
  options: Partial<PipelineOptions> = {},
): Promise<Pipeline> {
  return start(t, ports, { notices: true, ...options });
}

export type MailingOptions = Partial<NotifierOptions> & Partial<Pick<SmtpOptions, "deadline_ms" | "port">>;

/** No mail is late, however slow the machine is. */
const DEADLINE_MS = 600_000;

/** Starts a notifier that gathers for 50 ms and mails without an interval. */
export async function startMailing(
  t: ExecutionContext,
  fixture: MailFixture,
  overrides: MailingOptions = {},
): Promise<Notifier> {
  const { deadline_ms = DEADLINE_MS, port = fixture.server.port, ...options } = overrides;
  const from = { name: "", address: "loggia@example.net" };
  const notifier = await startNotifier({
    ...fixture.ports,
    documents: fixture.documents,
    channel: openChannel(
      MAIL,
      createMailSender({ host: "127.0.0.1", port, secure: false, credentials: null, from, deadline_ms }),
    ),
    log: SILENT,
    collect_ms: 50,
    interval_ms: 0,
    retryFirst_ms: 20,
    retryLast_ms: 100,
    ...options,
  });
  t.teardown(() => notifier.close(2_000));
  return notifier;
}

/** Adds a user with access to the log who wants mail about the class. */
export async function addReader({
  ports,
  log,
}: Pick<MailFixture, "ports" | "log">): Promise<{ id: UserId; email: string }> {
  const email = `${uniqueName("reader")}@example.com`;
  const { id } = await ports.catalog.createAccount({ email, password: "correct horse battery", admin: false });
  await ports.catalog.share(log, email, "user");
  await ports.catalog.setClassOptions(id, log, "failure", { alert: false, notify: true, hide: false });
  return { id, email };
}

/** Posts events of the class with these texts. */
export async function postFailures(
  { ports, log }: Pick<MailFixture, "ports" | "log">,
  ...texts: string[]
): Promise<void> {
  await post(
    ports.bus,
    texts.map((text) => accept(log, { text, tags: ["error"] })),
    100,
  );
}

export function mailsTo(server: SmtpServer, email: string): readonly ReceivedMail[] {
  return server.mails.filter(({ to }) => to.includes(email));
}

/** Waits until a user has received this many mails. */
export async function waitForMails(server: SmtpServer, email: string, count: number): Promise<readonly ReceivedMail[]> {
  await until(() => mailsTo(server, email).length >= count, { what: `${count} mails to ${email}` });
  return mailsTo(server, email);
}

/**
 * Waits until a new user was mailed about a new event, so that every earlier notice was handled. A
 * user who is added while the pipeline has events left would be mailed about these too.
 */
export async function waitForEarlierNotices(fixture: MailFixture): Promise<void> {
  await caughtUp(fixture.pipeline);
  const witness = await addReader(fixture);
  await postFailures(fixture, `for ${witness.email}`);
  await waitForMails(fixture.server, witness.email, 1);
  await fixture.ports.catalog.setClassOptions(witness.id, fixture.log, "failure", {
    alert: false,
    notify: false,
    hide: false,
  });
}
