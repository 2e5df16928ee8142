import * as answers from "../schemas/answers.ts";
import * as inputs from "../schemas/inputs.ts";
import type { Answer, Operation } from "./operation.ts";
import { OPERATING } from "./operations.ts";

const removed: Answer = { what: "Removed" };
const base = { tag: "management", callers: "people" } as const;

const ACCOUNTS: Readonly<Record<string, Operation>> = {
  "GET /accounts": {
    ...base,
    id: "listAccounts",
    summary: "List all accounts; for service admins",
    answers: { 200: { what: "The accounts", schema: answers.AccountList } },
    errors: [],
  },
  "POST /accounts": {
    ...base,
    id: "createAccount",
    summary: "Create an account; for service admins",
    json: inputs.NewAccount,
    answers: { 201: { what: "The account", schema: answers.AccountRecord, headers: ["Location"] } },
    errors: ["account_exists"],
  },
  "GET /accounts/:email": {
    ...base,
    id: "readAccount",
    summary: "Read one's own account, or as a service admin any account",
    answers: { 200: { what: "The account", schema: answers.AccountRecord } },
    errors: ["account_not_found"],
  },
  "PUT /accounts/:email": {
    ...base,
    id: "setPassword",
    summary: "Set the password of one's own account, or as a service admin of any account",
    json: inputs.NewPassword,
    answers: { 200: { what: "The account", schema: answers.AccountRecord } },
    errors: ["account_not_found"],
  },
  "DELETE /accounts/:email": {
    ...base,
    id: "deleteAccount",
    summary: "Remove an account with its shares and options; for service admins",
    answers: { 204: removed },
    errors: ["account_not_found", "conflict"],
  },
};

const POSTING: Readonly<Record<string, Operation>> = {
  "GET /posting": {
    ...base,
    id: "readPostingAddress",
    summary:
      "Read the address for producers: `url`, or if it is null, `port` on the host that serves this API; and whether mail is sent",
    answers: { 200: { what: "The address", schema: answers.PostingAddressRecord } },
    errors: [],
  },
};

const LOGS: Readonly<Record<string, Operation>> = {
  "GET /logs": {
    ...base,
    id: "listManagedLogs",
    summary: "List the logs that are shared with the caller, with plan and role",
    answers: { 200: { what: "The logs, by key", schema: answers.MemberLogList } },
    errors: [],
  },
  "GET /logs/:log": {
    ...base,
    id: "readManagedLog",
    summary: "Read a log with its plan; for its admins",
    answers: { 200: { what: "The log", schema: answers.ManagedLogRecord } },
    errors: ["log_not_found"],
  },
  "PATCH /logs/:log": {
    ...base,
    id: "changeLog",
    summary: "Change the settings of a log; for its admins",
    json: inputs.LogChange,
    answers: { 200: { what: "The log", schema: answers.ManagedLogRecord } },
    errors: ["log_not_found"],
  },
  "GET /logs/:log/users": {
    ...base,
    id: "listTrackedUsers",
    summary: "List the users that the producer's application has reported",
    query: inputs.PageQuery,
    answers: {
      200: {
        what: "A page of users, by name",
        schema: answers.TrackedUserList,
        headers: ["X-Total-Count", "X-Total-At-Least", "Link", "X-Loggia-Hint"],
      },
    },
    errors: ["log_not_found"],
  },
  "GET /logs/:log/shares": {
    ...base,
    id: "listShares",
    summary: "List the shares of a log; for its admins",
    answers: { 200: { what: "The shares", schema: answers.ShareList } },
    errors: ["log_not_found"],
  },
  "GET /logs/:log/shares/:email": {
    ...base,
    id: "readShare",
    summary: "Read a share; for admins of the log",
    answers: { 200: { what: "The share", schema: answers.ShareRecord } },
    errors: ["log_not_found", "share_not_found"],
  },
  "PUT /logs/:log/shares/:email": {
    ...base,
    id: "share",
    summary: "Share a log, or change the role of a share; for its admins",
    json: inputs.NewShare,
    answers: {
      200: { what: "The changed share", schema: answers.ShareRecord },
      201: { what: "The new share", schema: answers.ShareRecord, headers: ["Location"] },
    },
    errors: ["log_not_found", "account_not_found", "conflict"],
  },
  "DELETE /logs/:log/shares/:email": {
    ...base,
    id: "unshare",
    summary: "Remove a share; for admins of the log",
    answers: { 204: removed },
    errors: ["log_not_found", "share_not_found", "conflict"],
  },
};

const API_KEYS: Readonly<Record<string, Operation>> = {
  "GET /logs/:log/apiKeys": {
    ...base,
    id: "listApiKeys",
    summary: "List the API keys of a log, without their secrets; for its admins",
    answers: { 200: { what: "The API keys", schema: answers.ApiKeyList } },
    errors: ["log_not_found"],
  },
  "POST /logs/:log/apiKeys": {
    ...base,
    id: "createApiKey",
    summary: "Create an API key; for admins of the log",
    json: inputs.NewKey,
    answers: {
      201: {
        what: "The API key with its secret, which is shown only once",
        schema: answers.NewApiKeyRecord,
        headers: ["Location"],
      },
    },
    errors: ["log_not_found", "conflict"],
  },
  "GET /logs/:log/apiKeys/:id": {
    ...base,
    id: "readApiKey",
    summary: "Read an API key; for admins of the log",
    answers: { 200: { what: "The API key", schema: answers.ApiKeyRecord } },
    errors: ["log_not_found", "api_key_not_found"],
  },
  "PATCH /logs/:log/apiKeys/:id": {
    ...base,
    id: "changeApiKey",
    summary: "Disable or enable an API key; for admins of the log",
    json: inputs.KeyChange,
    answers: { 200: { what: "The API key", schema: answers.ApiKeyRecord } },
    errors: ["log_not_found", "api_key_not_found"],
  },
  "DELETE /logs/:log/apiKeys/:id": {
    ...base,
    id: "deleteApiKey",
    summary: "Remove an API key; for admins of the log",
    answers: { 204: removed },
    errors: ["log_not_found", "api_key_not_found"],
  },
};

const CLASSES: Readonly<Record<string, Operation>> = {
  "GET /logs/:log/classFilters": {
    ...base,
    id: "listManagedClassFilters",
    summary: "List the class filters of a log; for its admins",
    answers: { 200: { what: "The class filters", schema: answers.ClassFilterList } },
    errors: ["log_not_found"],
  },
  "POST /logs/:log/classFilters": {
    ...base,
    id: "createClassFilter",
    summary: "Create a class filter; for admins of the log",
    json: inputs.NewFilter,
    answers: { 201: { what: "The class filter", schema: answers.ClassFilterRecord, headers: ["Location"] } },
    errors: ["log_not_found", "class_filter_exists", "conflict"],
  },
  "POST /logs/:log/classFilters/preview": {
    ...base,
    id: "previewClassFilter",
    summary: "Preview which events an unsaved class filter matches; for admins of the log",
    json: inputs.PreviewedFilter,
    answers: { 200: { what: "The number of events, and the newest of them", schema: answers.ClassPreview } },
    errors: ["log_not_found"],
  },
  "GET /logs/:log/reclassify": {
    ...base,
    id: "readReclassification",
    summary: "Read the progress of the last reclassification; for admins of the log",
    answers: { 200: { what: "Its state and progress", schema: answers.ReclassificationRecord } },
    errors: ["log_not_found", "store_unavailable", "unsupported"],
  },
  "POST /logs/:log/reclassify": {
    ...base,
    id: "reclassify",
    summary: "Reclassify stored events by the current class filters; for admins of the log",
    json: inputs.ReclassifyOrder,
    answers: {
      202: { what: "The reclassification was ordered, or is running already", schema: answers.ReclassificationRecord },
    },
    errors: ["log_not_found", "conflict", "store_unavailable", "unsupported"],
  },
  "GET /logs/:log/classFilters/:key": {
    ...base,
    id: "readManagedClassFilter",
    summary: "Read a class filter; for admins of the log",
    answers: { 200: { what: "The class filter", schema: answers.ClassFilterRecord } },
    errors: ["log_not_found", "class_filter_not_found"],
  },
  "PUT /logs/:log/classFilters/:key": {
    ...base,
    id: "changeClassFilter",
    summary: "Replace all fields of a class filter except its key; for admins of the log",
    json: inputs.FilterFields,
    answers: { 200: { what: "The class filter", schema: answers.ClassFilterRecord } },
    errors: ["log_not_found", "class_filter_not_found"],
  },
  "DELETE /logs/:log/classFilters/:key": {
    ...base,
    id: "deleteClassFilter",
    summary: "Remove a class filter and all users' options for it; for admins of the log",
    answers: { 204: removed },
    errors: ["log_not_found", "class_filter_not_found"],
  },
  "GET /logs/:log/classFilters/:key/options": {
    ...base,
    id: "readClassOptions",
    summary: "Read the caller's own options for a class",
    answers: { 200: { what: "The options", schema: answers.OptionsRecord } },
    errors: ["log_not_found", "class_filter_not_found"],
  },
  "GET /logs/:log/classOptions": {
    ...base,
    id: "listClassOptions",
    summary: "List the caller's own options for the classes of a log; only classes with an option that is on",
    answers: { 200: { what: "The options, by class", schema: answers.OptionsList } },
    errors: ["log_not_found"],
  },
  "PUT /logs/:log/classFilters/:key/options": {
    ...base,
    id: "setClassOptions",
    summary: "Set the caller's own options for a class: alerts, mail and hiding",
    json: inputs.Options,
    answers: { 200: { what: "The options", schema: answers.OptionsRecord } },
    errors: ["log_not_found", "class_filter_not_found"],
  },
};

const SAVED_QUERIES: Readonly<Record<string, Operation>> = {
  "GET /logs/:log/queries": {
    ...base,
    id: "listSavedQueries",
    summary: "List the caller's saved queries of a log, and those shared by others",
    answers: { 200: { what: "The saved queries, by name", schema: answers.SavedQueryList } },
    errors: ["log_not_found"],
  },
  "POST /logs/:log/queries": {
    ...base,
    id: "saveQuery",
    summary: "Save a query under a name",
    json: inputs.NewSavedQuery,
    answers: { 201: { what: "The saved query", schema: answers.SavedQueryRecord, headers: ["Location"] } },
    errors: ["log_not_found", "bad_query", "saved_query_exists", "conflict"],
  },
  "GET /logs/:log/queries/:name": {
    ...base,
    id: "readSavedQuery",
    summary: "Read a saved query: the caller's own, or one shared by another user",
    answers: { 200: { what: "The saved query", schema: answers.SavedQueryRecord } },
    errors: ["log_not_found", "saved_query_not_found"],
  },
  "PUT /logs/:log/queries/:name": {
    ...base,
    id: "changeSavedQuery",
    summary: "Change one of the caller's own saved queries; a given name renames it",
    json: inputs.SavedQueryFields,
    answers: { 200: { what: "The saved query", schema: answers.SavedQueryRecord } },
    errors: ["log_not_found", "bad_query", "saved_query_not_found", "saved_query_exists"],
  },
  "DELETE /logs/:log/queries/:name": {
    ...base,
    id: "deleteSavedQuery",
    summary: "Remove one of the caller's own saved queries",
    answers: { 204: removed },
    errors: ["log_not_found", "saved_query_not_found"],
  },
};

const HOOKS: Readonly<Record<string, Operation>> = {
  "GET /logs/:log/hooks": {
    ...base,
    id: "listHooks",
    summary: "List the hooks of a log, without their secrets; for its admins",
    answers: { 200: { what: "The hooks, by name", schema: answers.HookList } },
    errors: ["log_not_found"],
  },
  "POST /logs/:log/hooks": {
    ...base,
    id: "createHook",
    summary: "Create a hook, to which another service posts in its own format; for admins of the log",
    json: inputs.NewHook,
    answers: {
      201: {
        what: "The hook; a generated secret is shown only once",
        schema: answers.ChangedHookRecord,
        headers: ["Location"],
      },
    },
    errors: ["log_not_found", "hook_exists", "conflict"],
  },
  "POST /logs/:log/hooks/preview": {
    ...base,
    id: "previewHook",
    summary: "What a hook would make of a body; nothing is stored; for admins of the log",
    json: inputs.PreviewedHook,
    answers: { 200: { what: "The events that would come of it", schema: answers.HookPreviewRecord } },
    errors: ["log_not_found", "unsupported"],
  },
  "GET /logs/:log/hooks/:name": {
    ...base,
    id: "readHook",
    summary: "Read a hook, without its secret; for admins of the log",
    answers: { 200: { what: "The hook", schema: answers.HookRecord } },
    errors: ["log_not_found", "hook_not_found"],
  },
  "PUT /logs/:log/hooks/:name": {
    ...base,
    id: "changeHook",
    summary:
      "Replace all settings of a hook except its name; the secret stays unless one is given; for admins of the log",
    json: inputs.HookFields,
    answers: { 200: { what: "The hook; a generated secret is shown only once", schema: answers.ChangedHookRecord } },
    errors: ["log_not_found", "hook_not_found"],
  },
  "DELETE /logs/:log/hooks/:name": {
    ...base,
    id: "deleteHook",
    summary: "Remove a hook; for admins of the log",
    answers: { 204: removed },
    errors: ["log_not_found", "hook_not_found"],
  },
};

/** Operations of `/manage/1`, by method and path of the router. */
export const MANAGEMENT: Readonly<Record<string, Operation>> = Object.fromEntries(
  Object.entries({
    ...ACCOUNTS,
    ...POSTING,
    ...LOGS,
    ...API_KEYS,
    ...CLASSES,
    ...SAVED_QUERIES,
    ...HOOKS,
    ...OPERATING,
  }).map(([name, operation]) => [name.replace(" ", " /manage/1"), operation]),
);
