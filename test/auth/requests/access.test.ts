import test from "ava";

import type { Who } from "../../../src/auth/requests/access.ts";
import { STATUS_OF_CODE } from "../../../src/errors.ts";
import { API_ENDPOINTS, POST_ENDPOINTS } from "../../support/endpoints.ts";
import { KINDS } from "../../support/engine-kinds.ts";
import { serviceOf } from "../../support/service.ts";
import { uniqueName } from "../../support/temporary.ts";
import { createWorld } from "../../api/access-world.ts";
import type { World } from "../../api/access-world.ts";

/**
 * The answer to every kind of caller for each access that an endpoint may declare: `ok`, or the
 * status of the refusal. Columns:
 *
 * nobody    without credentials
 * wrong     an admin with a wrong password
 * foreign   an account that the log is not shared with
 * user      an account with the user role; paths of accounts have its e-mail
 * admin     an account with the admin role
 * root      a service admin without a share
 * reader    a read-only key of the log
 * writer    a write-only key of the log
 * disabled  a disabled read-write key of the log
 * other     a read-write key of another log
 */
const CALLERS = [
  "nobody",
  "wrong",
  "foreign",
  "user",
  "admin",
  "root",
  "reader",
  "writer",
  "disabled",
  "other",
] as const;
type CallerName = (typeof CALLERS)[number];
const ANSWERS: Readonly<Record<Who, string>> = {
  anyone: "                       ok     ok      ok  ok    ok   ok     ok     ok       ok    ok",
  session: "                     401    401     401 401   401  401    401    401      401   401",
  caller: "                      401    401      ok  ok    ok   ok     ok     ok      401    ok",
  reader: "                      401    401      ok  ok    ok   ok     ok    403      401    ok",
  account: "                     401    401      ok  ok    ok   ok    403    403      401   403",
  "service admin": "             401    401     403 403   403   ok    403    403      401   403",
  "own account or service admin": "401 401     403  ok   403   ok    403    403      401   403",
  "log caller": "                401    401     404  ok    ok  404     ok     ok      401   404",
  "log reader": "                401    401     404  ok    ok  404     ok    403      401   404",
  "log member": "                401    401     404  ok    ok  404    403    403      401   403",
  "log admin": "                 401    401     404 403    ok  404    403    403      401   403",
  "posting key": "               401    401     401 401   401  401    403     ok      401   401",
};

/** Statuses that follow from the record in the path, not from the access. */
const OF_THE_RECORD: Readonly<Record<string, Partial<Record<CallerName, number>>>> = {
  // The session is the user's.
  "DELETE /1/sessions/:id": { foreign: 404, admin: 404, root: 404 },
  // The query is the admin's, who shares it.
  "PUT /manage/1/logs/:log/queries/:name": { user: 404 },
  "DELETE /manage/1/logs/:log/queries/:name": { user: 404 },
  // Nothing is held.
  "POST /manage/1/holds/:name/accept": { root: 409 },
  // The folder is invalid.
  "POST /manage/1/backup": { root: 400 },
};

const ENDPOINTS = new Map([...API_ENDPOINTS, ...POST_ENDPOINTS]);

/** Returns the statuses with which an endpoint may answer a caller, as its declaration says. */
function declaredStatuses(row: string, caller: CallerName): readonly number[] {
  const { who, answers } = ENDPOINTS.get(row)!;
  const answer = ANSWERS[who].trim().split(/ +/)[CALLERS.indexOf(caller)]!;
  const ofRecord = OF_THE_RECORD[row]?.[caller];
  if (ofRecord !== undefined) return [ofRecord];
  if (answer !== "ok") return [Number(answer)];
  const successes = Object.keys(answers).map(Number);
  return successes.length > 0 ? successes : [STATUS_OF_CODE.unsupported];
}

test("statuses of records are those of endpoints that exist", (t) => {
  for (const row of Object.keys(OF_THE_RECORD)) t.true(ENDPOINTS.has(row), row);
});

for (const kind of KINDS) {
  test(`${kind}: every endpoint answers every caller as it declares`, async (t) => {
    t.timeout(600_000);
    const world = await createWorld(await serviceOf(t, kind));
    for (const row of ENDPOINTS.keys()) {
      for (const caller of CALLERS) {
        const status = await call(world, row, caller);
        const declared = declaredStatuses(row, caller);
        t.true(declared.includes(status), `${row} ${caller}: ${status} instead of ${declared.join(" or ")}`);
      }
    }
  });
}

const PEOPLE = ["foreign", "user", "admin", "root"] as const;

for (const kind of KINDS) {
  test(`${kind}: a session gives the same access as e-mail and password`, async (t) => {
    t.timeout(600_000);
    const world = await createWorld(await serviceOf(t, kind));
    for (const [row, { who, answers }] of API_ENDPOINTS) {
      for (const person of PEOPLE) {
        const declared = who === "session" ? Object.keys(answers).map(Number) : declaredStatuses(row, person);
        const status = await call(world, row, { cookie: await world.signIn(person) });
        t.true(declared.includes(status), `${row} ${person}: ${status} instead of ${declared.join(" or ")}`);
      }
    }
  });
}

/** Calls a route as a caller, with valid input on existing records, and returns the status. */
async function call(world: World, row: string, caller: string | { readonly cookie: string }): Promise<number> {
  const [method = "", route = ""] = row.split(" ");
  const toPost = route.startsWith("post:");
  const records = await world.recordsFor(method, route);
  const path = route.replace("post:", "").replaceAll(/:(\w+)/g, (_, name: string) => records[name] ?? "");
  const url = new URL((toPost ? world.postUrl : world.apiUrl) + path);
  const headers: Record<string, string> = {};
  const { authorization, apikey } = typeof caller === "string" ? (world.callers[caller] ?? {}) : {};
  if (typeof caller !== "string") Object.assign(headers, { Cookie: caller.cookie, "X-Loggia": "1" });
  if (authorization !== undefined) headers["Authorization"] = authorization;
  if (apikey !== undefined) url.searchParams.set("apikey", apikey);
  if (route.endsWith("/query")) url.searchParams.set("query", "GET events");
  const input = inputOf(row, records);
  if (toPost && method === "GET") {
    for (const [name, value] of input) url.searchParams.set(name, String(value));
    url.searchParams.set("fmt", "jsonp");
    url.searchParams.set("callback", "f");
  }
  const hasJson = API_ENDPOINTS.get(row)?.json !== undefined;
  if (hasJson) headers["Content-Type"] = "application/json";
  const body = hasJson ? JSON.stringify(Object.fromEntries(input)) : new URLSearchParams(input as string[][]);
  const response = await fetch(url, { method, headers, ...(method !== "GET" && input.length > 0 && { body }) });
  // A tail never ends.
  if (route.endsWith("/tail")) await response.body?.cancel();
  else await response.arrayBuffer();
  return response.status;
}

/** Returns the body of a call, with new keys and addresses each time so that none is taken. */
function inputOf(row: string, records: Readonly<Record<string, string>>): [string, string | boolean | undefined][] {
  const inputs: Readonly<Record<string, Record<string, string | boolean | undefined>>> = {
    "PUT /1/logs/alerts": { seen: true },
    "PUT /1/logs/:log/alerts": { seen: true },
    "PUT /1/logs/:log/alerts/:id": { seen: true },
    "POST /1/session": { email: records["email"], password: "correct horse" },
    "POST /1/session/tickets": { path: "/1/logs" },
    "POST /1/logs": { key: uniqueName("log"), display: "A log" },
    "POST /1/logs/:log/bookmarks": { id: records["id"] },
    "POST /manage/1/accounts": { email: `${uniqueName("new")}@example.org`, password: "correct horse" },
    "PUT /manage/1/accounts/:email": { password: "correct horse" },
    "POST /manage/1/deadletters/redrive": { all: true },
    "POST /manage/1/replay": { from: "start" },
    // Valid input differs between engines; this invalid input is refused by both.
    "POST /manage/1/backup": { to: "here" },
    "PATCH /manage/1/logs/:log": { display: "A log" },
    "PUT /manage/1/logs/:log/shares/:email": { role: "user" },
    "POST /manage/1/logs/:log/apiKeys": { scope: "read-only" },
    "PATCH /manage/1/logs/:log/apiKeys/:id": { disabled: true },
    "POST /manage/1/logs/:log/classFilters": { key: uniqueName("class"), color: "red", tag: "a" },
    "POST /manage/1/logs/:log/classFilters/preview": { tag: "a" },
    "PUT /manage/1/logs/:log/classFilters/:key": { color: "red", tag: "a" },
    "PUT /manage/1/logs/:log/classFilters/:key/options": { alert: false },
    "POST /manage/1/logs/:log/queries": { name: uniqueName("query"), query: "GET events" },
    "PUT /manage/1/logs/:log/queries/:name": { query: "GET events" },
    "POST /manage/1/logs/:log/hooks": { name: uniqueName("hook"), signature: "github" },
    "POST /manage/1/logs/:log/hooks/preview": { body: "{}" },
    "PUT /manage/1/logs/:log/hooks/:name": { signature: "none" },
    "POST post:/1/logs/:log/events": { text: "hello" },
    "GET post:/1/logs/:log/events": { text: "hello" },
    "POST post:/1/logs/:log/users": { user: "carla" },
    "GET post:/1/logs/:log/users": { user: "carla" },
  };
  return Object.entries(inputs[row] ?? {});
}
