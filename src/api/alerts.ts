import { requireAccount, requireMember } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { Deletion } from "../events/deletion.ts";
import type { UserId } from "../events/event.ts";
import type { Route } from "../http/route.ts";
import type { Source } from "../query/plan.ts";
import type { Store } from "../store/store.ts";
import { authenticated, eventIdOf, logKeyOf, NO_CONTENT, unsupported } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { showEvent, showsAttributes } from "./event-view.ts";
import { listRecords } from "./list.ts";

export function alertRoutes(context: Context): Route[] {
  const { catalog, store, deletions } = context;
  const refuseCreation = unsupported(
    context,
    "Alerts are made by the service, for events of a class whose options ask for them",
  );
  return [
    authenticated(context, "GET", "/1/logs/alerts", async (call) => {
      const { id: user } = requireAccount(call.caller);
      const logs = catalog.logsOf(user).map((log) => log.key);
      return await listRecords(context, call, { from: alertsOf(user), logs });
    }),
    authenticated(context, "DELETE", "/1/logs/alerts", async ({ caller }) => {
      const all = await store.deletionsOfAlerts(requireAccount(caller).id);
      await deletions.append(all);
      await carryOut(store, all);
      return NO_CONTENT;
    }),
    authenticated(context, "POST", "/1/logs/alerts", refuseCreation),
    authenticated(context, "GET", "/1/logs/:log/alerts", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      return await listRecords(context, call, { from: alertsOf(account.id), logs: [log.key] });
    }),
    authenticated(context, "POST", "/1/logs/:log/alerts", refuseCreation),
    authenticated(context, "GET", "/1/logs/:log/alerts/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const shape = { columns: null, attributes: showsAttributes(call.query) };
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      const marks = await store.marks([row.id]);
      return { status: 200, body: showEvent(row, marks.get(row.id), shape) };
    }),
    authenticated(context, "DELETE", "/1/logs/:log/alerts/:id", async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const id = eventIdOf(call);
      const row = id === null ? null : await store.find(alertsOf(account.id), log.key, id);
      if (row === null) throw alertNotFound(call);
      await deletions.append([{ log: log.key, event: row.id, alertOf: account.id }]);
      // The pipeline may have been faster.
      await store.deleteAlert(account.id, log.key, row.id);
      return NO_CONTENT;
    }),
  ];
}

/** What the store does not take now, the pipeline carries out: the bus has it. */
async function carryOut(store: Store, deletions: readonly Deletion[]): Promise<void> {
  const outcomes = await store.writeDeletions(deletions);
  const left = outcomes.find(({ kind }) => kind !== "done");
  if (left !== undefined)
    throw new LoggiaError("store_unavailable", "Not all alerts are deleted yet; they will be soon");
  await store.refresh();
}

function alertsOf(user: UserId): Source {
  return { kind: "alerts", user };
}

function alertNotFound(call: ApiCall): LoggiaError {
  return new LoggiaError("alert_not_found", `You have no such alert in the log ${call.params["log"]}`);
}
