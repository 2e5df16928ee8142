import { requireAccount, requireMember } from "../catalog/permissions.ts";
import { generateId } from "../catalog/secrets.ts";
import { LoggiaError } from "../errors.ts";
import type { Deletion } from "../events/deletion.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { jsonOf } from "../http/formats.ts";
import type { Reply, Route } from "../http/route.ts";
import { badParameter } from "../query/parameters.ts";
import type { RecordSource } from "../query/plan.ts";
import type { Store } from "../store/store.ts";
import { authenticated, eventIdOf, logKeyOf, NO_CONTENT, unsupported } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { showsAttributes } from "./event-view.ts";
import { readJson } from "./input.ts";
import { listRecords } from "./list.ts";
import { AlertSeen, AlertsSeen } from "./schemas/inputs.ts";
import { writeEvent } from "./written-events.ts";

export function alertRoutes(context: Context): Route[] {
  const { catalog, store, deletions } = context;
  const refuseCreation = unsupported(
    context,
    "The service creates alerts itself, for events of classes whose option alert is on",
  );
  return [
    authenticated(context, "GET", "/1/logs/alerts", async (call) => {
      const { id: user } = requireAccount(call.caller);
      const logs = catalog.logsOf(user).map((log) => log.key);
      return await listRecords(context, call, { from: readSource(call, user), logs });
    }),
    authenticated(context, "DELETE", "/1/logs/alerts", async ({ caller }) => {
      const all = await store.deletionsOfAlerts(requireAccount(caller).id);
      await deletions.append(all);
      await carryOut(store, all);
      return NO_CONTENT;
    }),
    authenticated(
      context,
      "PUT",
      "/1/logs/alerts",
      async (call) => {
        const { id: user } = requireAccount(call.caller);
        const logs = catalog.logsOf(user).map((log) => log.key);
        return await markAll(context, call, { user, logs });
      },
      { takesBody: true, formats: "json" },
    ),
    authenticated(context, "POST", "/1/logs/alerts", refuseCreation),
    authenticated(context, "GET", "/1/logs/:log/alerts", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      return await listRecords(context, call, { from: readSource(call, account.id), logs: [log.key] });
    }),
    authenticated(
      context,
      "PUT",
      "/1/logs/:log/alerts",
      async (call) => {
        const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
        return await markAll(context, call, { user: account.id, logs: [log.key] });
      },
      { takesBody: true, formats: "json" },
    ),
    authenticated(context, "POST", "/1/logs/:log/alerts", refuseCreation),
    authenticated(context, "GET", "/1/logs/:log/alerts/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      const annotations = await store.annotations([row.id]);
      return { status: 200, body: await writeEvent(call, row, { annotations, shape }) };
    }),
    authenticated(
      context,
      "PUT",
      "/1/logs/:log/alerts/:id",
      async (call) => {
        const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
        const id = eventIdOf(call);
        const { seen } = await readJson(context, call, AlertSeen);
        const isThere = id !== null && (await store.setAlertSeen({ user: account.id, log: log.key, id }, seen));
        if (!isThere) throw alertNotFound(call);
        return NO_CONTENT;
      },
      { takesBody: true },
    ),
    authenticated(context, "DELETE", "/1/logs/:log/alerts/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      await deletions.append([{ log: log.key, event: row.id, alertOf: account.id }]);
      // The pipeline may have deleted it already.
      await store.deleteAlert(account.id, log.key, row.id);
      return NO_CONTENT;
    }),
  ];
}

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
  context: Context,
  call: ApiCall,
  whose: { readonly user: UserId; readonly logs: readonly LogKey[] },
): Promise<Reply> {
  const { store } = context;
  const asked = await readJson(context, call, AlertsSeen);
  const mark = asked.seen ? generateId() : asked.mark;
  const count = asked.seen
    ? await store.markAlertsSeen({ ...whose, mark, until: asked.until })
    : await store.unmarkAlertsSeen({ ...whose, mark });
  const body = { json: jsonOf({ mark, count }), xml: () => ({ root: "results", content: { mark, count } }) };
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
