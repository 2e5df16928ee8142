import type { Catalog, Hook } from "../../catalog/catalog.ts";
import { checkHook } from "../../catalog/hook-checks.ts";
import type { HookPreview, PreviewHook } from "../../catalog/hook-preview.ts";
import { hookNotFound } from "../../catalog/hooks.ts";
import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { Route } from "../../http/route.ts";
import type { LogKey } from "../../events/event.ts";
import { NO_CONTENT } from "../context.ts";
import type { ApiCall, Context } from "../context.ts";
import { readJson } from "../input.ts";
import { HookFields, NewHook, PreviewedHook } from "../schemas/inputs.ts";
import { created, managed, ok } from "./json.ts";
import { requireAdministered } from "./logs.ts";

/**
 * Routes of hooks, to which other services post. A generated secret is only in the response that
 * creates it.
 */
export function hookRoutes(context: Context): Route[] {
  const { catalog } = context;
  const path = "/logs/:log/hooks";
  return [
    managed(context, "GET", path, (call) => {
      const { key } = requireAdministered(context, call);
      return ok(catalog.hooks(key).map((hook) => showHook(key, hook)));
    }),
    managed(context, "POST", path, async (call) => {
      const { key } = requireAdministered(context, call);
      const { secret, ...hook } = await catalog.createHook(key, await readJson(context, call, NewHook));
      return created(`/logs/${key}/hooks/${hook.name}`, { ...showHook(key, hook), secret });
    }),
    managed(context, "POST", `${path}/preview`, async (call) => {
      requireAdministered(context, call);
      const { kind, template, body, headers = {} } = await readJson(context, call, PreviewedHook);
      const hook = checkHook("", { kind, template });
      return ok(showPreview(await previewOf(context)({ hook, body, headers })));
    }),
    managed(context, "GET", `${path}/:name`, (call) => {
      const { key } = requireAdministered(context, call);
      return ok(showHook(key, findHook(catalog, key, nameOf(call))));
    }),
    managed(context, "PUT", `${path}/:name`, async (call) => {
      const { key } = requireAdministered(context, call);
      const wanted = await readJson(context, call, HookFields);
      const { secret, ...hook } = await catalog.updateHook(key, nameOf(call), wanted);
      return ok({ ...showHook(key, hook), secret });
    }),
    managed(context, "DELETE", `${path}/:name`, async (call) => {
      const { key } = requireAdministered(context, call);
      await catalog.deleteHook(key, nameOf(call));
      return NO_CONTENT;
    }),
  ];
}

function previewOf({ previewHook }: Context): PreviewHook {
  if (previewHook !== undefined) return previewHook;
  throw new LoggiaError("unsupported", "This process can't preview hooks");
}

function showPreview({ events, ...rest }: HookPreview) {
  const shown = events.map(({ created: moment, ...event }) => ({
    created: moment === null ? null : new Moment(moment),
    ...event,
  }));
  return { events: shown, ...rest };
}

function findHook(catalog: Pick<Catalog, "hooks">, log: LogKey, name: string): Hook {
  const hook = catalog.hooks(log).find((one) => one.name === name.toLowerCase());
  if (hook === undefined) throw hookNotFound(log, name);
  return hook;
}

function showHook(log: LogKey, { name, kind, signature, template, created: moment }: Hook) {
  return { name, kind, signature, template, created: new Moment(moment), path: `/1/logs/${log}/hooks/${name}` };
}

function nameOf(call: ApiCall): string {
  return call.params["name"] ?? "";
}
