import type { Catalog, ClassFilter } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import type { Reply } from "../http/route.ts";
import { writeLong, writeNested } from "../http/streamed-list.ts";
import type { ApiCall } from "./context.ts";
import { defineRoute } from "./define-route.ts";
import { sizeOfFilters } from "./response-sizes.ts";
import { ClassFilterList, ClassFilterRecord, ClassFiltersOfLogs } from "./schemas/answers.ts";
import { showClassFilter, listClassFilters, listClassFiltersOfLogs } from "./view.ts";

const base = { tag: "classes" } as const;

export const CLASS_FILTER_ROUTES = [
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/classFilters",
    who: "reader",
    id: "listAllClassFilters",
    summary: "List the class filters of all logs that the caller may read",
    answers: { 200: { what: "The logs with their class filters", schema: ClassFiltersOfLogs } },
    async handle({ catalog }, { access, memory, format, request, scheduler }) {
      const logs = access.map(({ key }) => ({ key, filters: catalog.classFilters(key) }));
      const count = logs.reduce((sum, { filters }) => sum + filters.length, 0);
      await memory.take(sizeOfFilters(logs.length + count, format));
      const isWanted = () => !request.socket.destroyed;
      return { status: 200, body: await writeNested(format, listClassFiltersOfLogs(logs), isWanted, scheduler) };
    },
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/classFilters",
    who: "log reader",
    id: "listClassFilters",
    summary: "List the class filters of a log",
    answers: { 200: { what: "The class filters, by key", schema: ClassFilterList } },
    handle: ({ catalog }, call) => writeClassFilters(call, catalog.classFilters(call.access.key)),
  }),
  defineRoute({
    ...base,
    method: "GET",
    path: "/1/logs/:log/classFilters/:key",
    who: "log reader",
    id: "readClassFilter",
    summary: "Read a class filter",
    answers: { 200: { what: "The class filter", schema: ClassFilterRecord } },
    errors: ["class_filter_not_found"],
    handle: ({ catalog }, { access: log, params }) => ({
      status: 200,
      body: showClassFilter(findClassFilter(catalog, log.key, params["key"] ?? "")),
    }),
  }),
];

/** Returns the class filters of one log as a response. */
export async function writeClassFilters(
  { memory, format, request, scheduler }: ApiCall,
  filters: readonly ClassFilter[],
): Promise<Reply> {
  await memory.take(sizeOfFilters(filters.length + 1, format));
  return {
    status: 200,
    body: await writeLong(format, listClassFilters(filters), () => !request.socket.destroyed, scheduler),
  };
}

/** @throws LoggiaError `class_filter_not_found` */
export function findClassFilter(catalog: Catalog, log: LogKey, text: string): ClassFilter {
  const key = text.toLowerCase();
  const filter = catalog.classFilters(log).find((filter) => filter.key === key);
  if (filter !== undefined) return filter;
  throw new LoggiaError("class_filter_not_found", `There is no such class filter in the log ${log}`);
}
