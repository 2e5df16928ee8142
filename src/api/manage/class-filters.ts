import type { Call } from "../../http/route.ts";
import { findClassFilter, writeClassFilters } from "../class-filters.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { ClassFilterList, ClassFilterRecord } from "../schemas/answers.ts";
import { FilterFields, NewFilter } from "../schemas/inputs.ts";
import { filterFields } from "../view.ts";
import { managed } from "./managed.ts";

export const MANAGED_CLASS_FILTER_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/classFilters",
    who: "log admin",
    id: "listManagedClassFilters",
    summary: "List the class filters of a log; for its admins",
    answers: { 200: { what: "The class filters", schema: ClassFilterList } },
    handle: ({ catalog }, call) => writeClassFilters(call, catalog.classFilters(call.access.log.key)),
  }),
  managed({
    method: "POST",
    path: "/manage/1/logs/:log/classFilters",
    who: "log admin",
    id: "createClassFilter",
    summary: "Create a class filter; for admins of the log",
    json: NewFilter,
    answers: { 201: { what: "The class filter", schema: ClassFilterRecord, headers: ["Location"] } },
    errors: ["class_filter_exists", "conflict"],
    async handle({ catalog }, { access: { log }, input }) {
      const filter = await catalog.createClassFilter(log.key, await input());
      return created(`/manage/1/logs/${log.key}/classFilters/${filter.key}`, filterFields(filter));
    },
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/classFilters/:key",
    who: "log admin",
    id: "readManagedClassFilter",
    summary: "Read a class filter; for admins of the log",
    answers: { 200: { what: "The class filter", schema: ClassFilterRecord } },
    errors: ["class_filter_not_found"],
    handle: ({ catalog }, call) =>
      ok(filterFields(findClassFilter(catalog, call.access.log.key, classKeyParameter(call)))),
  }),
  managed({
    method: "PUT",
    path: "/manage/1/logs/:log/classFilters/:key",
    who: "log admin",
    id: "changeClassFilter",
    summary: "Replace all fields of a class filter except its key; for admins of the log",
    json: FilterFields,
    answers: { 200: { what: "The class filter", schema: ClassFilterRecord } },
    errors: ["class_filter_not_found"],
    async handle({ catalog }, call) {
      const filter = await call.input();
      return ok(filterFields(await catalog.updateClassFilter(call.access.log.key, classKeyParameter(call), filter)));
    },
  }),
  managed({
    method: "DELETE",
    path: "/manage/1/logs/:log/classFilters/:key",
    who: "log admin",
    id: "deleteClassFilter",
    summary: "Remove a class filter and all users' options for it; for admins of the log",
    answers: { 204: REMOVED_ANSWER },
    errors: ["class_filter_not_found"],
    async handle({ catalog }, call) {
      await catalog.deleteClassFilter(call.access.log.key, classKeyParameter(call));
      return NO_CONTENT;
    },
  }),
];

/** Returns the key of a class filter in the path. */
export function classKeyParameter({ params }: Pick<Call, "params">): string {
  return (params["key"] ?? "").toLowerCase();
}
