import type { ApiKey, Log } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { Call, Route } from "../../http/route.ts";
import { NO_CONTENT } from "../context.ts";
import type { Context } from "../context.ts";
import { readJson } from "../input.ts";
import { KeyChange, NewKey } from "../schemas/inputs.ts";
import { created, managed, ok } from "./json.ts";
import { requireAdministered } from "./logs.ts";

export function apiKeyRoutes(context: Context): Route[] {
  const { catalog } = context;
  return [
    managed(context, "GET", "/logs/:log/apiKeys", (call) =>
      ok(requireAdministered(context, call).apiKeys.map(showKey)),
    ),
    managed(context, "POST", "/logs/:log/apiKeys", async (call) => {
      const log = requireAdministered(context, call);
      const { scope } = await readJson(context, call, NewKey);
      const { secret, ...key } = await catalog.createApiKey(log.key, scope);
      return created(`/logs/${log.key}/apiKeys/${key.id}`, { ...showKey(key), key: secret });
    }),
    managed(context, "GET", "/logs/:log/apiKeys/:id", (call) =>
      ok(showKey(findKey(requireAdministered(context, call), call))),
    ),
    managed(context, "PATCH", "/logs/:log/apiKeys/:id", async (call) => {
      const log = requireAdministered(context, call);
      const { disabled } = await readJson(context, call, KeyChange);
      return ok(showKey(await catalog.setApiKeyDisabled(log.key, findKey(log, call).id, disabled)));
    }),
    managed(context, "DELETE", "/logs/:log/apiKeys/:id", async (call) => {
      const log = requireAdministered(context, call);
      await catalog.deleteApiKey(log.key, findKey(log, call).id);
      return NO_CONTENT;
    }),
  ];
}

function findKey(log: Log, call: Call): ApiKey {
  const key = log.apiKeys.find(({ id }) => id === call.params["id"]);
  if (key !== undefined) return key;
  throw new LoggiaError("api_key_not_found", `The log ${log.key} has no such API key`);
}

function showKey({ id, scope, disabled, created: moment }: ApiKey) {
  return { id, scope, disabled, created: new Moment(moment) };
}
