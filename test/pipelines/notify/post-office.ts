import type { ExecutionContext } from "ava";
import { join } from "node:path";

import type { UserId, LogKey } from "../../../src/events/event.ts";
import { openElasticsearchDocuments } from "../../../src/catalog/documents/elasticsearch.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import { createElasticsearchClient } from "../../../src/elasticsearch/client.ts";
import { createSmtpMailer, type SmtpOptions } from "../../../src/mail/smtp.ts";
import { startNotifier, type Notifier, type NotifierOptions } from "../../../pipelines/notify/notifier.ts";
import type { StateDocuments } from "../../../pipelines/notify/state.ts";
import type { Pipeline, PipelineOptions } from "../../../pipelines/runner.ts";
import { elasticsearchUrl } from "../../support/engines.ts";
import { startSmtpServer, type ReceivedMail, type SmtpServer } from "../../support/smtp.ts";
import { temporaryFolder, uniqueName } from "../../support/temporary.ts";
import { until } from "../../support/until.ts";
import { accept, caughtUp, classFilter, makeLog, post, SILENT, start, type House, type Place } from "../house.ts";
import { PLACES } from "../places.ts";

/**
 * Everything that a mail passes through: engines, a log with a class for events tagged `error`, a
 * mail server, and a pipeline that publishes notices of such events.
 */
export type PostOffice = {
  readonly house: House;
  readonly documents: StateDocuments;
  readonly server: SmtpServer;
  readonly pipeline: Pipeline;
  readonly log: LogKey;
};

export type OfficePlace = { readonly name: string; readonly open: (t: ExecutionContext) => Promise<PostOffice> };

async function openDocuments(t: ExecutionContext, place: Place): Promise<StateDocuments> {
  if (place.name === "embedded") {
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

export const OFFICES: readonly OfficePlace[] = PLACES.map((place) => ({
  name: place.name,
  open: async (t) => {
    const house = await place.open(t);
    const documents = await openDocuments(t, place);
    const server = await startSmtpServer(t);
    const { log } = await makeLog(house.catalog);
    await house.catalog.createClassFilter(log, classFilter("failure", { tag: "error" }));
    const pipeline = await startTelling(t, house);
    return { house, documents, server, pipeline, log };
  },
}));

export function startTelling(
  t: ExecutionContext,
  house: House,
  options: Partial<PipelineOptions> = {},
): Promise<Pipeline> {
  return start(t, house, { notices: true, ...options });
}

export type Haste = Partial<NotifierOptions> & Partial<Pick<SmtpOptions, "deadline_ms" | "port">>;

/** Starts a notifier that gathers for 50 ms and mails without an interval. */
export async function startMailing(t: ExecutionContext, office: PostOffice, haste: Haste = {}): Promise<Notifier> {
  const { deadline_ms = 10_000, port = office.server.port, ...options } = haste;
  const from = { name: "", address: "loggia@example.net" };
  const notifier = await startNotifier({
    ...office.house,
    documents: office.documents,
    mailer: createSmtpMailer({ host: "127.0.0.1", port, secure: false, credentials: null, from, deadline_ms }),
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
  house,
  log,
}: Pick<PostOffice, "house" | "log">): Promise<{ id: UserId; email: string }> {
  const email = `${uniqueName("reader")}@example.com`;
  const { id } = await house.catalog.createAccount({ email, password: "correct horse battery", admin: false });
  await house.catalog.share(log, email, "user");
  await house.catalog.setClassOptions(id, log, "failure", { alert: false, notify: true, hide: false });
  return { id, email };
}

/** Posts events of the class with these texts. */
export async function happen({ house, log }: Pick<PostOffice, "house" | "log">, ...texts: string[]): Promise<void> {
  await post(
    house.bus,
    texts.map((text) => accept(log, { text, tags: ["error"] })),
    100,
  );
}

export function mailsTo(server: SmtpServer, email: string): readonly ReceivedMail[] {
  return server.mails.filter(({ to }) => to.includes(email));
}

/** Waits until a user has received this many mails. */
export async function received(server: SmtpServer, email: string, count: number): Promise<readonly ReceivedMail[]> {
  await until(() => mailsTo(server, email).length >= count, { what: `${count} mails to ${email}` });
  return mailsTo(server, email);
}

/**
 * Waits until a new user was mailed about a new event, so that every earlier notice was handled. A
 * user who is added while the pipeline has events left would be mailed about these too.
 */
export async function proceed(office: PostOffice): Promise<void> {
  await caughtUp(office.pipeline);
  const witness = await addReader(office);
  await happen(office, `for ${witness.email}`);
  await received(office.server, witness.email, 1);
  await office.house.catalog.setClassOptions(witness.id, office.log, "failure", {
    alert: false,
    notify: false,
    hide: false,
  });
}
