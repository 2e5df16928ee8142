import { requireReadable, requireReadableLogs } from "../catalog/permissions.ts";
import type { Catalog, ClassFilter } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { Reply, Route } from "../http/route.ts";
import { writeLong, writeNested } from "../http/streamed-list.ts";
import { authenticated, logKeyOf } from "./context.ts";
import type { ApiCall, Context } from "./context.ts";
import { sizeOfFilters } from "./response-sizes.ts";
import { showClassFilter, listClassFilters, listClassFiltersOfLogs } from "./view.ts";

export function classFilterRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    authenticated(context, "GET", "/1/logs/classFilters", async ({ caller, memory, format, request }) => {
      const logs = requireReadableLogs(catalog, caller).map(({ key }) => ({ key, filters: catalog.classFilters(key) }));
      const count = logs.reduce((sum, { filters }) => sum + filters.length, 0);
      await memory.take(sizeOfFilters(logs.length + count, format));
      const isWanted = () => !request.socket.destroyed;
      return { status: 200, body: await writeNested(format, listClassFiltersOfLogs(logs), isWanted) };
    }),
    authenticated(context, "GET", "/1/logs/:log/classFilters", async (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      return await writeClassFilters(call, catalog.classFilters(key));
    }),
    authenticated(context, "GET", "/1/logs/:log/classFilters/:key", (call) => {
      const { key } = requireReadable(catalog, call.caller, logKeyOf(call));
      return { status: 200, body: showClassFilter(findClassFilter(catalog, key, call.params["key"] ?? "")) };
    }),
  ];
}

/** Returns the class filters of one log as a response. */
export async function writeClassFilters(
  { memory, format, request }: ApiCall,
  filters: readonly ClassFilter[],
): Promise<Reply> {
  await memory.take(sizeOfFilters(filters.length + 1, format));
  return { status: 200, body: await writeLong(format, listClassFilters(filters), () => !request.socket.destroyed) };
}

/** @throws LoggiaError `class_filter_not_found` */
export function findClassFilter(catalog: Catalog, log: LogKey, text: string): ClassFilter {
  const key = text.toLowerCase();
  const filter = catalog.classFilters(log).find((filter) => filter.key === key);
  if (filter !== undefined) return filter;
  throw new LoggiaError("class_filter_not_found", `There is no such class filter in the log ${log}`);
}
