import test from "ava";
import pino from "pino";

import { apiRoutes } from "../../src/api/api.ts";
import type { Context } from "../../src/api/context.ts";
import { OPERATIONS } from "../../src/api/openapi/document.ts";
import { POSTING } from "../../src/api/openapi/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { serviceOf } from "../support/service.ts";
import { uniqueName } from "../support/temporary.ts";
import { createWorld } from "./access-world.ts";
import type { World } from "./access-world.ts";

/**
 * The status of every route for every kind of caller. Columns:
 *
 * nobody    without credentials
 * wrong     an admin with a wrong password
 * foreign   an account that the log is not shared with
 * user      an account with the user role
 * admin     an account with the admin role
 * root      a service admin without a share
 * reader    a read-only key of the log
 * writer    a write-only key of the log
 * disabled  a disabled read-write key of the log
 * other     a read-write key of another log
 */
const TABLE = `
                                                           nobody wrong foreign user admin root reader writer disabled other
GET    /openapi.json                                          200   200     200  200   200  200    200    200      200   200

GET    /1/logs                                                401   401     200  200   200  200    200    403      401   200
POST   /1/logs                                                401   401     201  201   201  201    403    403      401   403
GET    /1/logs/:log                                           401   401     404  200   200  404    200    403      401   404
DELETE /1/logs/:log                                           401   401     404  400   400  404    400    400      401   404

GET    /1/logs/:log/events                                    401   401     404  200   200  404    200    403      401   404
POST   /1/logs/:log/events                                    401   401     404  400   400  404    400    400      401   404
GET    /1/logs/:log/events/:id                                401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/events/:id/context                        401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/events/:id/data                           401   401     404  200   200  404    200    403      401   404
DELETE /1/logs/:log/events/:id                                401   401     404  403   204  404    403    403      401   403

GET    /1/logs/bookmarks                                      401   401     200  200   200  200    403    403      401   403
GET    /1/logs/:log/bookmarks                                 401   401     404  200   200  404    403    403      401   403
POST   /1/logs/:log/bookmarks                                 401   401     404  201   201  404    403    403      401   403
GET    /1/logs/:log/bookmarks/:id                             401   401     404  200   200  404    403    403      401   403
DELETE /1/logs/:log/bookmarks/:id                             401   401     404  204   204  404    403    403      401   403

GET    /1/logs/alerts                                         401   401     200  200   200  200    403    403      401   403
POST   /1/logs/alerts                                         401   401     400  400   400  400    400    400      401   400
DELETE /1/logs/alerts                                         401   401     204  204   204  204    403    403      401   403
PUT    /1/logs/alerts                                         401   401     200  200   200  200    403    403      401   403
GET    /1/logs/:log/alerts                                    401   401     404  200   200  404    403    403      401   403
POST   /1/logs/:log/alerts                                    401   401     404  400   400  404    400    400      401   404
GET    /1/logs/:log/alerts/:id                                401   401     404  200   200  404    403    403      401   403
PUT    /1/logs/:log/alerts                                    401   401     404  200   200  404    403    403      401   403
PUT    /1/logs/:log/alerts/:id                                401   401     404  204   204  404    403    403      401   403
DELETE /1/logs/:log/alerts/:id                                401   401     404  204   204  404    403    403      401   403

GET    /1/logs/classFilters                                   401   401     200  200   200  200    200    403      401   200
GET    /1/logs/:log/classFilters                              401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/classFilters/:key                         401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/export                                    401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/tail                                      401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/fields                                    401   401     404  200   200  404    200    403      401   404
GET    /1/logs/:log/query                                     401   401     404  200   200  404    200    403      401   404

POST   /1/session                                             201   201     201  201   201  201    201    201      201   201
GET    /1/session                                             401   401     401  401   401  401    401    401      401   401
DELETE /1/session                                             401   401     401  401   401  401    401    401      401   401
POST   /1/session/tickets                                     401   401     401  401   401  401    401    401      401   401
GET    /1/sessions                                            401   401     200  200   200  200    403    403      401   403
DELETE /1/sessions/:id                                        401   401     404  204   404  404    403    403      401   403

GET    /manage/1/accounts                                     401   401     403  403   403  200    403    403      401   403
POST   /manage/1/accounts                                     401   401     403  403   403  201    403    403      401   403
GET    /manage/1/accounts/:email                              401   401     403  200   403  200    403    403      401   403
PUT    /manage/1/accounts/:email                              401   401     403  200   403  200    403    403      401   403
DELETE /manage/1/accounts/:email                              401   401     403  403   403  204    403    403      401   403

GET    /manage/1/deadletters                                  401   401     403  403   403  200    403    403      401   403
POST   /manage/1/deadletters/redrive                          401   401     403  403   403  200    403    403      401   403
GET    /manage/1/holds                                        401   401     403  403   403  200    403    403      401   403
POST   /manage/1/holds/:name/accept                           401   401     403  403   403  409    403    403      401   403
GET    /manage/1/replay                                       401   401     403  403   403  200    403    403      401   403
POST   /manage/1/replay                                       401   401     403  403   403  202    403    403      401   403
GET    /manage/1/backup                                       401   401     403  403   403  200    403    403      401   403
POST   /manage/1/backup                                       401   401     403  403   403  400    403    403      401   403

GET    /manage/1/posting                                      401   401     200  200   200  200    403    403      401   403
GET    /manage/1/logs                                         401   401     200  200   200  200    403    403      401   403
GET    /manage/1/logs/:log                                    401   401     404  403   200  404    403    403      401   403
PATCH  /manage/1/logs/:log                                    401   401     404  403   200  404    403    403      401   403
GET    /manage/1/logs/:log/users                              401   401     404  200   200  404    403    403      401   403
GET    /manage/1/logs/:log/shares                             401   401     404  403   200  404    403    403      401   403
GET    /manage/1/logs/:log/shares/:email                      401   401     404  403   200  404    403    403      401   403
PUT    /manage/1/logs/:log/shares/:email                      401   401     404  403   201  404    403    403      401   403
DELETE /manage/1/logs/:log/shares/:email                      401   401     404  403   204  404    403    403      401   403

GET    /manage/1/logs/:log/apiKeys                            401   401     404  403   200  404    403    403      401   403
POST   /manage/1/logs/:log/apiKeys                            401   401     404  403   201  404    403    403      401   403
GET    /manage/1/logs/:log/apiKeys/:id                        401   401     404  403   200  404    403    403      401   403
PATCH  /manage/1/logs/:log/apiKeys/:id                        401   401     404  403   200  404    403    403      401   403
DELETE /manage/1/logs/:log/apiKeys/:id                        401   401     404  403   204  404    403    403      401   403

GET    /manage/1/logs/:log/classFilters                       401   401     404  403   200  404    403    403      401   403
POST   /manage/1/logs/:log/classFilters                       401   401     404  403   201  404    403    403      401   403
POST   /manage/1/logs/:log/classFilters/preview               401   401     404  403   200  404    403    403      401   403
GET    /manage/1/logs/:log/reclassify                         401   401     404  403   200  404    403    403      401   403
POST   /manage/1/logs/:log/reclassify                         401   401     404  403   202  404    403    403      401   403
GET    /manage/1/logs/:log/classFilters/:key                  401   401     404  403   200  404    403    403      401   403
PUT    /manage/1/logs/:log/classFilters/:key                  401   401     404  403   200  404    403    403      401   403
DELETE /manage/1/logs/:log/classFilters/:key                  401   401     404  403   204  404    403    403      401   403
GET    /manage/1/logs/:log/classOptions                       401   401     404  200   200  404    403    403      401   403
GET    /manage/1/logs/:log/classFilters/:key/options          401   401     404  200   200  404    403    403      401   403
PUT    /manage/1/logs/:log/classFilters/:key/options          401   401     404  200   200  404    403    403      401   403

GET    /manage/1/logs/:log/queries                            401   401     404  200   200  404    403    403      401   403
POST   /manage/1/logs/:log/queries                            401   401     404  201   201  404    403    403      401   403
GET    /manage/1/logs/:log/queries/:name                      401   401     404  200   200  404    403    403      401   403
PUT    /manage/1/logs/:log/queries/:name                      401   401     404  404   200  404    403    403      401   403
DELETE /manage/1/logs/:log/queries/:name                      401   401     404  404   204  404    403    403      401   403

GET    /manage/1/logs/:log/hooks                              401   401     404  403   200  404    403    403      401   403
POST   /manage/1/logs/:log/hooks                              401   401     404  403   201  404    403    403      401   403
POST   /manage/1/logs/:log/hooks/preview                      401   401     404  403   200  404    403    403      401   403
GET    /manage/1/logs/:log/hooks/:name                        401   401     404  403   200  404    403    403      401   403
PUT    /manage/1/logs/:log/hooks/:name                        401   401     404  403   200  404    403    403      401   403
DELETE /manage/1/logs/:log/hooks/:name                        401   401     404  403   204  404    403    403      401   403

POST   post:/1/logs/:log/events                               401   401     401  401   401  401    403    201      401   401
GET    post:/1/logs/:log/events                               401   401     401  401   401  401    403    201      401   401
POST   post:/1/logs/:log/users                                401   401     401  401   401  401    403    201      401   401
GET    post:/1/logs/:log/users                                401   401     401  401   401  401    403    201      401   401
`;

const [CALLERS = [], ...ROWS] = TABLE.split("\n")
  .map((line) => line.trim().split(/ +/))
  .filter((words) => words.length > 1);
const EXPECTED = new Map(ROWS.map(([method, path, ...statuses]) => [`${method} ${path}`, statuses.join(" ")]));

test("every route has a row, and every row a route", (t) => {
  const context = { log: pino({ level: "silent" }), now: Date.now } as Context;
  const routed = apiRoutes(context).map(({ method, path }) => `${method} ${path}`);
  const posting = Object.keys(POSTING).map((name) => name.replace(" ", " post:/1"));
  t.deepEqual([...EXPECTED.keys()].toSorted(), [...routed, ...posting].toSorted());
  t.is(EXPECTED.size, ROWS.length, "no row stands there twice");
});

for (const kind of KINDS) {
  test(`${kind}: every route answers every caller with the status in the table`, async (t) => {
    t.timeout(600_000);
    const world = await createWorld(await serviceOf(t, kind));
    const actual = new Map<string, string>();
    for (const row of EXPECTED.keys()) {
      const statuses: number[] = [];
      for (const caller of CALLERS) statuses.push(await call(world, row, caller));
      actual.set(row, statuses.join(" "));
    }
    const differing = [...EXPECTED].filter(([row, statuses]) => actual.get(row) !== statuses);
    t.deepEqual(
      differing.map(([row]) => `${row} ${actual.get(row)}`),
      differing.map((row) => row.join(" ")),
    );
  });
}

/** Statuses of routes that only a session can call. */
const BY_SESSION: Readonly<Record<string, number>> = {
  "GET /1/session": 200,
  "DELETE /1/session": 204,
  "POST /1/session/tickets": 201,
};
const PEOPLE = ["foreign", "user", "admin", "root"] as const;

for (const kind of KINDS) {
  test(`${kind}: a session gives the same access as e-mail and password`, async (t) => {
    t.timeout(600_000);
    const world = await createWorld(await serviceOf(t, kind));
    for (const [row, statuses] of EXPECTED) {
      if (row.includes("post:")) continue;
      for (const person of PEOPLE) {
        const expected = BY_SESSION[row] ?? Number(statuses.split(" ")[CALLERS.indexOf(person)]);
        const cookie = await world.signIn(person);
        t.is(await call(world, row, { cookie }), expected, `${row} ${person}`);
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
  const hasJson = OPERATIONS[row]?.json !== undefined;
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
