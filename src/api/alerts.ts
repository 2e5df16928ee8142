import type { z } from "zod";

import { generateId } from "../auth/secrets.ts";
import { LoggiaError } from "../errors.ts";
import type { Deletion } from "../events/deletion.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { jsonPayload } from "../http/formats.ts";
import type { Reply } from "../http/route.ts";
import { badParameter } from "../query/parameters.ts";
import type { RecordSource } from "../query/plan.ts";
import type { Store } from "../store/store.ts";
import { eventIdParameter } from "./context.ts";
import type { ApiCall } from "./context.ts";
import { defineRoute, unsupported } from "./define-route.ts";
import { showsAttributes } from "./event-view.ts";
import { listRecords, PAGE_ANSWER } from "./list.ts";
import { NO_CONTENT, REMOVED_ANSWER } from "./replies.ts";
import { SeenRecord } from "./schemas/answers.ts";
import { EventRecord } from "./schemas/event-answers.ts";
import { AlertListQuery, AlertSeen, AlertsSeen, ShownQuery } from "./schemas/inputs.ts";
import { writeEvent } from "./written-events.ts";

const base = { tag: "alerts" } as const;

const refuseCreation = unsupported("The service creates alerts itself, for events of classes whose option alert is on");

/** Routes of the caller's alerts in all logs. */
const OF_ALL_LOGS = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/alerts",
    who: "account",
    id: "listAllAlerts",
    summary: "List the caller's alerts in all logs",
    query: AlertListQuery,
    answers: { 200: PAGE_ANSWER },
    errors: ["unsupported"],
    async handle(context, call) {
      const { id: user } = call.access;
      const logs = context.catalog.logsOf(user).map((log) => log.key);
      return await listRecords(context, call, { from: readSource(call, user), logs });
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/logs/alerts",
    who: "account",
    id: "deleteAllAlerts",
    summary: "Remove all of the caller's alerts",
    answers: { 204: REMOVED_ANSWER },
    async handle({ store, deletions }, { access: account }) {
      const all = await store.deletionsOfAlerts(account.id);
      await deletions.append(all);
      await carryOut(store, all);
      return NO_CONTENT;
    },
  }),
  defineRoute({
    ...base,
    method: "PUT",
    path: "/1/logs/alerts",
    formats: "json",
    who: "account",
    id: "markAllAlerts",
    summary: "Mark the caller's alerts in all logs as seen, or revert such a change",
    json: AlertsSeen,
    answers: { 200: { what: "The change", schema: SeenRecord } },
    async handle({ catalog, store }, { access: account, input }) {
      const logs = catalog.logsOf(account.id).map((log) => log.key);
      return await markAll(store, await input(), { user: account.id, logs });
    },
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/logs/alerts",
    who: "caller",
    id: "createAlertAnywhere",
    summary: "Always rejected: the service creates alerts",
    answers: {},
    errors: ["unsupported"],
    handle: refuseCreation,
  }),
];

/** Routes of the caller's alerts in one log. */
const OF_LOG = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/alerts",
    who: "log member",
    id: "listAlerts",
    summary: "List the caller's alerts in a log",
    query: AlertListQuery,
    answers: { 200: PAGE_ANSWER },
    errors: ["unsupported"],
    async handle(context, call) {
      const { account, log } = call.access;
      return await listRecords(context, call, { from: readSource(call, account.id), logs: [log.key] });
    },
  }),
  defineRoute({
    ...base,
    method: "PUT",
    path: "/1/logs/:log/alerts",
    formats: "json",
    who: "log member",
    id: "markAlerts",
    summary: "Mark the caller's alerts in a log as seen, or revert such a change",
    json: AlertsSeen,
    answers: { 200: { what: "The change", schema: SeenRecord } },
    async handle({ store }, { access: { account, log }, input }) {
      return await markAll(store, await input(), { user: account.id, logs: [log.key] });
    },
  }),
  defineRoute({
    ...base,
    method: "POST",
    path: "/1/logs/:log/alerts",
    who: "log caller",
    id: "createAlert",
    summary: "Always rejected: the service creates alerts",
    answers: {},
    errors: ["unsupported"],
    handle: refuseCreation,
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/alerts/:id",
    who: "log member",
    id: "readAlert",
    summary: "Read one of the caller's alerts",
    query: ShownQuery,
    answers: { 200: { what: "The event", schema: EventRecord } },
    errors: ["alert_not_found"],
    async handle({ store }, call) {
      const { account, log } = call.access;
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdParameter(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    },
  }),
  defineRoute({
    ...base,
    method: "PUT",
    path: "/1/logs/:log/alerts/:id",
    who: "log member",
    id: "markAlert",
    summary: "Mark one of the caller's alerts as seen, or not seen",
    json: AlertSeen,
    answers: { 204: { what: "Marked" } },
    errors: ["alert_not_found"],
    async handle({ store }, call) {
      const { account, log } = call.access;
      const id = eventIdParameter(call);
      const { seen } = await call.input();
      const isThere = id !== null && (await store.setAlertSeen({ user: account.id, log: log.key, id }, seen));
      if (!isThere) throw alertNotFound(call);
      return NO_CONTENT;
    },
  }),
  defineRoute({
    ...base,
    method: "DELETE",
    path: "/1/logs/:log/alerts/:id",
    who: "log member",
    id: "deleteAlert",
    summary: "Remove one of the caller's alerts",
    answers: { 204: REMOVED_ANSWER },
    errors: ["alert_not_found"],
    async handle({ store, deletions }, call) {
      const { account, log } = call.access;
      const id = eventIdParameter(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      await deletions.append([{ log: log.key, event: row.id, alertOf: account.id }]);
      // The pipeline may have deleted it already.
      await store.deleteAlert(account.id, log.key, row.id);
      return NO_CONTENT;
    },
  }),
];

export const ALERT_ROUTES = [...OF_ALL_LOGS, ...OF_LOG];

/** Applies deletions now. The pipeline applies those that fail here, as the bus has them. */
async function carryOut(store: Store, deletions: readonly Deletion[]): Promise<void> {
  const outcomes = await store.writeDeletions(deletions);
  const left = outcomes.find(({ kind }) => kind !== "done");
  if (left !== undefined)
    throw new LoggiaError("store_unavailable", "Some alerts are not deleted yet; the service deletes them soon");
  await store.refresh();
}

/** Marks alerts of some logs as seen, or reverts an earlier call that did. */
async function markAll(
  store: Store,
  asked: z.infer<typeof AlertsSeen>,
  whose: { readonly user: UserId; readonly logs: readonly LogKey[] },
): Promise<Reply> {
  const mark = asked.seen ? generateId() : asked.mark;
  const count = asked.seen
    ? await store.markAlertsSeen({ ...whose, mark, until: asked.until })
    : await store.unmarkAlertsSeen({ ...whose, mark });
  const body = { json: jsonPayload({ mark, count }), xml: () => ({ root: "results", content: { mark, count } }) };
  return { status: 200, body };
}

/** Returns the alerts selected by the parameter `state`. @throws LoggiaError `bad_parameter` */
function readSource({ query }: ApiCall, user: UserId): RecordSource {
  const state = query.get("state") ?? "";
  if (state === "") return alertsOf(user);
  if (state === "seen" || state === "unseen") return { kind: "alerts", user, state };
  throw badParameter("state", state, "seen or unseen");
}

function alertsOf(user: UserId): RecordSource {
  return { kind: "alerts", user };
}

function alertNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("alert_not_found", `You have no such alert in the log ${call.params["log"]}`);
}
