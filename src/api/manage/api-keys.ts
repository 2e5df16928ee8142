import type { ApiKey, Log } from "../../catalog/catalog.ts";
import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { Call } from "../../http/route.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { ApiKeyList, ApiKeyRecord, NewApiKeyRecord } from "../schemas/answers.ts";
import { KeyChange, NewKey } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";

export const API_KEY_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/apiKeys",
    who: "log admin",
    id: "listApiKeys",
    summary: "List the API keys of a log, without their secrets; for its admins",
    answers: { 200: { what: "The API keys", schema: ApiKeyList } },
    handle: (_, { access: { log } }) => ok(log.apiKeys.map(showKey)),
  }),
  managed({
    method: "POST",
    path: "/manage/1/logs/:log/apiKeys",
    who: "log admin",
    id: "createApiKey",
    summary: "Create an API key; for admins of the log",
    json: NewKey,
    answers: {
      201: {
        what: "The API key with its secret, which is shown only once",
        schema: NewApiKeyRecord,
        headers: ["Location"],
      },
    },
    errors: ["conflict"],
    async handle({ catalog }, { access: { log }, input }) {
      const { scope } = await input();
      const { secret, ...key } = await catalog.createApiKey(log.key, scope);
      return created(`/manage/1/logs/${log.key}/apiKeys/${key.id}`, { ...showKey(key), key: secret });
    },
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/apiKeys/:id",
    who: "log admin",
    id: "readApiKey",
    summary: "Read an API key; for admins of the log",
    answers: { 200: { what: "The API key", schema: ApiKeyRecord } },
    errors: ["api_key_not_found"],
    handle: (_, call) => ok(showKey(findKey(call.access.log, call))),
  }),
  managed({
    method: "PATCH",
    path: "/manage/1/logs/:log/apiKeys/:id",
    who: "log admin",
    id: "changeApiKey",
    summary: "Disable or enable an API key; for admins of the log",
    json: KeyChange,
    answers: { 200: { what: "The API key", schema: ApiKeyRecord } },
    errors: ["api_key_not_found"],
    async handle({ catalog }, call) {
      const { log } = call.access;
      const { disabled } = await call.input();
      return ok(showKey(await catalog.setApiKeyDisabled(log.key, findKey(log, call).id, disabled)));
    },
  }),
  managed({
    method: "DELETE",
    path: "/manage/1/logs/:log/apiKeys/:id",
    who: "log admin",
    id: "deleteApiKey",
    summary: "Remove an API key; for admins of the log",
    answers: { 204: REMOVED_ANSWER },
    errors: ["api_key_not_found"],
    async handle({ catalog }, call) {
      const { log } = call.access;
      await catalog.deleteApiKey(log.key, findKey(log, call).id);
      return NO_CONTENT;
    },
  }),
];

function findKey(log: Log, call: Call): ApiKey {
  const key = log.apiKeys.find(({ id }) => id === call.params["id"]);
  if (key !== undefined) return key;
  throw new LoggiaError("api_key_not_found", `The log ${log.key} has no such API key`);
}

function showKey({ id, scope, disabled, created: moment }: ApiKey) {
  return { id, scope, disabled, created: new Moment(moment) };
}
