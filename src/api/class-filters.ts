import { requireReadable, requireReadableLogs } from "../catalog/permissions.ts";
import type { Catalog, ClassFilter } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { Route } from "../http/route.ts";
import { writeLong } from "../http/written.ts";
import { authenticated, logKeyOf } from "./context.ts";
import type { Context } from "./context.ts";
import { showClassFilter, listClassFilters, showClassFiltersOfLogs } from "./view.ts";

export function classFilterRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    authenticated(context, "GET", "/1/logs/classFilters", ({ caller }) => {
      const logs = requireReadableLogs(catalog, caller);
      return {
        status: 200,
        body: showClassFiltersOfLogs(logs.map(({ key }) => ({ key, filters: catalog.classFilters(key) }))),
      };
    }),
    authenticated(context, "GET", "/1/logs/:log/classFilters", async (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      const list = listClassFilters(catalog.classFilters(key));
      return { status: 200, body: await writeLong(call.format, list, () => !call.request.socket.destroyed) };
    }),
    authenticated(context, "GET", "/1/logs/:log/classFilters/:key", (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      return { status: 200, body: showClassFilter(findClassFilter(catalog, key, call.params["key"] ?? "")) };
    }),
  ];
}

/** @throws LoggiaError `class_filter_not_found` */
export function findClassFilter(catalog: Catalog, log: LogKey, text: string): ClassFilter {
  const key = text.toLowerCase();
  const filter = catalog.classFilters(log).find((filter) => filter.key === key);
  if (filter !== undefined) return filter;
  throw new LoggiaError("class_filter_not_found", `There is no such class filter in the log ${log}`);
}
