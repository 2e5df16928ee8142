import type { Catalog, Hook } from "../../catalog/catalog.ts";
import { checkHook } from "../../catalog/hook-checks.ts";
import type { HookPreview, PreviewHook } from "../../catalog/hook-preview.ts";
import { hookNotFound } from "../../catalog/hooks.ts";
import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import { Moment } from "../../http/moment.ts";
import type { ApiCall, Context } from "../context.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { ChangedHookRecord, HookList, HookPreviewRecord, HookRecord } from "../schemas/answers.ts";
import { HookFields, NewHook, PreviewedHook } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";

const base = { path: "/manage/1/logs/:log/hooks", who: "log admin" } as const;
const named = { path: "/manage/1/logs/:log/hooks/:name", who: "log admin" } as const;

/**
 * Routes of hooks, to which other services post. A generated secret is only in the response that
 * creates it.
 */
export const HOOK_ROUTES = [
  managed({
    ...base,
    method: "GET",
    id: "listHooks",
    summary: "List the hooks of a log, without their secrets; for its admins",
    answers: { 200: { what: "The hooks, by name", schema: HookList } },
    handle: ({ catalog }, { access: { log } }) => ok(catalog.hooks(log.key).map((hook) => showHook(log.key, hook))),
  }),
  managed({
    ...base,
    method: "POST",
    id: "createHook",
    summary: "Create a hook, to which another service posts in its own format; for admins of the log",
    json: NewHook,
    answers: {
      201: {
        what: "The hook; a generated secret is shown only once",
        schema: ChangedHookRecord,
        headers: ["Location"],
      },
    },
    errors: ["hook_exists", "conflict"],
    async handle({ catalog }, { access: { log }, input }) {
      const { secret, ...hook } = await catalog.createHook(log.key, await input());
      return created(`/manage/1/logs/${log.key}/hooks/${hook.name}`, { ...showHook(log.key, hook), secret });
    },
  }),
  managed({
    ...base,
    path: "/manage/1/logs/:log/hooks/preview",
    method: "POST",
    id: "previewHook",
    summary: "Preview how a hook maps a body; nothing is stored; for admins of the log",
    json: PreviewedHook,
    answers: { 200: { what: "The events that it would store", schema: HookPreviewRecord } },
    errors: ["unsupported"],
    async handle(context, call) {
      const { kind, template, body, headers = {} } = await call.input();
      const hook = checkHook("", { kind, template });
      return ok(showPreview(await previewOf(context)({ hook, body, headers })));
    },
  }),
  managed({
    ...named,
    method: "GET",
    id: "readHook",
    summary: "Read a hook, without its secret; for admins of the log",
    answers: { 200: { what: "The hook", schema: HookRecord } },
    errors: ["hook_not_found"],
    handle({ catalog }, call) {
      const { key } = call.access.log;
      return ok(showHook(key, findHook(catalog, key, nameOf(call))));
    },
  }),
  managed({
    ...named,
    method: "PUT",
    id: "changeHook",
    summary:
      "Replace all settings of a hook except its name; the secret stays unless one is given; for admins of the log",
    json: HookFields,
    answers: { 200: { what: "The hook; a generated secret is shown only once", schema: ChangedHookRecord } },
    errors: ["hook_not_found"],
    async handle({ catalog }, call) {
      const { key } = call.access.log;
      const { secret, ...hook } = await catalog.updateHook(key, nameOf(call), await call.input());
      return ok({ ...showHook(key, hook), secret });
    },
  }),
  managed({
    ...named,
    method: "DELETE",
    id: "deleteHook",
    summary: "Remove a hook; for admins of the log",
    answers: { 204: REMOVED_ANSWER },
    errors: ["hook_not_found"],
    async handle({ catalog }, call) {
      await catalog.deleteHook(call.access.log.key, nameOf(call));
      return NO_CONTENT;
    },
  }),
];

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
