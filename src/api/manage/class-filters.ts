import { requireMember } from "../../catalog/permissions.ts";
import type { Route } from "../../http/route.ts";
import { findClassFilter, writeClassFilters } from "../class-filters.ts";
import { logKeyOf, NO_CONTENT } from "../context.ts";
import type { ApiCall, Context } from "../context.ts";
import { filterFields } from "../view.ts";
import { readJson } from "../input.ts";
import { FilterFields, NewFilter, Options } from "../schemas/inputs.ts";
import { classPreviewRoute } from "./class-preview.ts";
import { created, managed, ok } from "./json.ts";
import { requireAdministered } from "./logs.ts";

export function managedClassFilterRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    managed(context, "GET", "/logs/:log/classFilters", async (call) => {
      const { key } = requireAdministered(context, call);
      return await writeClassFilters(call, catalog.classFilters(key));
    }),
    managed(context, "POST", "/logs/:log/classFilters", async (call) => {
      const { key } = requireAdministered(context, call);
      const filter = await catalog.createClassFilter(key, await readJson(context, call, NewFilter));
      return created(`/logs/${key}/classFilters/${filter.key}`, filterFields(filter));
    }),
    managed(context, "GET", "/logs/:log/classFilters/:key", (call) => {
      const { key } = requireAdministered(context, call);
      return ok(filterFields(findClassFilter(catalog, key, classKeyOf(call))));
    }),
    managed(context, "PUT", "/logs/:log/classFilters/:key", async (call) => {
      const { key } = requireAdministered(context, call);
      const filter = await readJson(context, call, FilterFields);
      return ok(filterFields(await catalog.updateClassFilter(key, classKeyOf(call), filter)));
    }),
    managed(context, "DELETE", "/logs/:log/classFilters/:key", async (call) => {
      const { key } = requireAdministered(context, call);
      await catalog.deleteClassFilter(key, classKeyOf(call));
      return NO_CONTENT;
    }),
    classPreviewRoute(context),
    ...optionRoutes(context),
  ];
}

/** Routes of the caller's own options for classes. */
function optionRoutes(context: Context): Route[] {
  const { catalog } = context;
  const path = "/logs/:log/classFilters/:key/options";
  return [
    managed(context, "GET", "/logs/:log/classOptions", (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const chosen = catalog.classFilters(log.key).flatMap(({ key }) => {
        const { alert, notify, hide } = catalog.classOptions(account.id, log.key, key);
        return alert || notify || hide ? [{ key, alert, notify, hide }] : [];
      });
      return ok(chosen);
    }),
    managed(context, "GET", path, (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const { key } = findClassFilter(catalog, log.key, classKeyOf(call));
      const { alert, notify, hide } = catalog.classOptions(account.id, log.key, key);
      return ok({ alert, notify, hide });
    }),
    managed(context, "PUT", path, async (call) => {
      const { account, log } = requireMember(catalog, call.caller, logKeyOf(call));
      const { key } = findClassFilter(catalog, log.key, classKeyOf(call));
      const wanted = await readJson(context, call, Options);
      const { alert, notify, hide } = await catalog.setClassOptions(account.id, log.key, key, wanted);
      return ok({ alert, notify, hide });
    }),
  ];
}

function classKeyOf(call: ApiCall): string {
  return (call.params["key"] ?? "").toLowerCase();
}
