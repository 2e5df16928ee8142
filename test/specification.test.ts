import test from "ava";

import { readScenarios } from "./scenarios/scenario.ts";
import type { Step } from "./scenarios/scenario.ts";

/**
 * The tables of the API's specification. Each row must be met by a step of a scenario, which has
 * the request and the expected response; the scenarios run on every engine.
 */

/** Method, path, status of the response, and the formats in which it must be shown. */
const ENDPOINTS = `
GET    /1/logs                            200  json xml jsonp
GET    /1/logs/:log                       200  json xml jsonp
POST   /1/logs                            201  json xml
DELETE /1/logs/:log                       400  json
GET    /1/logs/:log/events                200  json xml jsonp
GET    /1/logs/:log/events/:id            200  json xml jsonp
GET    /1/logs/:log/events/:id            404  json
GET    /1/logs/:log/events/:id/data       200  json xml jsonp
POST   /1/logs/:log/events                400  json
DELETE /1/logs/:log/events/:id            204  json
DELETE /1/logs/:log/events/:id            403  json
DELETE /1/logs/:log/events/:id            404  json
POST   post:/1/logs/:log/events           201  json
GET    post:/1/logs/:log/events           201  jsonp
POST   post:/1/logs/:log/events           400  json
POST   post:/1/logs/:log/events           401  json
POST   post:/1/logs/:log/users            201  json
GET    post:/1/logs/:log/users            201  jsonp
GET    /1/logs/bookmarks                  200  json xml jsonp
GET    /1/logs/:log/bookmarks             200  json xml jsonp
GET    /1/logs/:log/bookmarks/:id         200  json xml jsonp
GET    /1/logs/:log/bookmarks/:id         404  json
POST   /1/logs/:log/bookmarks             201  json xml
POST   /1/logs/:log/bookmarks             404  json
DELETE /1/logs/:log/bookmarks/:id         204  json
DELETE /1/logs/:log/bookmarks/:id         404  json
GET    /1/logs/alerts                     200  json xml jsonp
GET    /1/logs/:log/alerts                200  json xml jsonp
GET    /1/logs/:log/alerts/:id            200  json xml jsonp
GET    /1/logs/:log/alerts/:id            404  json
POST   /1/logs/alerts                     400  json
POST   /1/logs/:log/alerts                400  json
DELETE /1/logs/alerts                     204  json
DELETE /1/logs/:log/alerts/:id            204  json
DELETE /1/logs/:log/alerts/:id            404  json
GET    /1/logs/classFilters               200  json xml jsonp
GET    /1/logs/:log/classFilters          200  json xml jsonp
GET    /1/logs/:log/classFilters/:key     200  json xml jsonp
GET    /1/logs/:log/classFilters/:key     404  json
GET    /1/logs/:log/query                 200  json xml jsonp
GET    /1/logs/:log/query                 400  json
GET    /1/logs/:log/fields                200  json xml jsonp
GET    /1/logs/:log/fields                400  json
`;

/** Parameters of lists, each with a valid value and, if there is one, an invalid one. */
const PARAMETERS: Readonly<Record<string, { readonly taken: RegExp; readonly refused?: RegExp }>> = {
  pagenum: { taken: /^[1-9]/, refused: /^0$/ },
  pagesize: { taken: /^[1-9]/, refused: /^501$/ },
  order: { taken: /^desc$/, refused: /^(?!asc$|desc$)./ },
  tags: { taken: /\S \S/ },
  text: { taken: /[\\[(.*+?^$|]/, refused: /./ },
  sinceid: { taken: /^\$\{/, refused: /./ },
  source: { taken: /./ },
  user: { taken: /./ },
  class: { taken: /./ },
  created: { taken: /:/, refused: /./ },
};
/** Lists with these parameters: of events, and of bookmarks and alerts in all logs and in one. */
const LISTS = {
  events: ["/1/logs/:log/events"],
  bookmarks: ["/1/logs/bookmarks", "/1/logs/:log/bookmarks"],
  alerts: ["/1/logs/alerts", "/1/logs/:log/alerts"],
} as const;

/** Fields of records, with a path whose response is compared byte by byte. */
const RECORDS: Readonly<Record<string, string>> = {
  "/1/logs/:log/events": "id created text link hash tags source log class data geo value user filter bookmarks alerts",
  "/1/logs/:log/events/:id":
    "id created text link hash tags source log class data geo value user filter bookmarks alerts",
  "/1/logs/bookmarks": "id created text link hash tags source log class data geo value user filter bookmarks alerts",
  "/1/logs/alerts": "id created text link hash tags source log class data geo value user filter bookmarks alerts",
  "/1/logs": "key display",
  "/1/logs/classFilters": "key classFilters display color tag text link source weight",
  "/1/logs/:log/classFilters/:key": "key display color tag text link source weight",
  "/1/logs/:log/query": "key count avg sum min max",
};

const POSTED = "text tags source user value geo link data".split(" ");

type Asked = {
  readonly step: Step;
  readonly method: string;
  readonly path: string;
  readonly parameters: URLSearchParams;
};

const ASKED: readonly Asked[] = readScenarios().flatMap(({ scenario }) =>
  scenario.steps.map((step) => {
    const [, method = "", path = "", query = ""] = /^([A-Z]+) ([^?]*)\??(.*)$/.exec(step.request) ?? [];
    const parameters = new URLSearchParams(query);
    for (const [name, value] of Object.entries(step.query)) parameters.append(name, value);
    return { step, method, path, parameters };
  }),
);

test("every endpoint has a step for each of its responses, in each format", (t) => {
  const rows = ENDPOINTS.trim()
    .split("\n")
    .map((line) => line.split(/ +/));
  t.is(rows.length, 43);
  const missing = rows.flatMap(([method, path = "", status, ...formats]) =>
    formats
      .filter(
        (format) =>
          !ASKED.some(
            (asked) =>
              asked.method === method &&
              leadsTo(asked.path, path) &&
              asked.step.status === Number(status) &&
              formatOf(asked) === format,
          ),
      )
      .map((format) => `${method} ${path} ${status} ${format}`),
  );
  t.deepEqual(missing, []);
});

test("every parameter of lists is accepted and refused by a step, for events, bookmarks and alerts", (t) => {
  const missing = Object.entries(LISTS).flatMap(([list, paths]) =>
    Object.entries(PARAMETERS).flatMap(([name, { taken, refused }]) => {
      const values = (status: number): string[] =>
        ASKED.filter(
          ({ method, path, step }) =>
            method === "GET" && step.status === status && paths.some((each) => leadsTo(path, each)),
        ).flatMap(({ parameters }) => parameters.getAll(name));
      const isTaken = values(200).some((value) => taken.test(value));
      // Valid values are the same for all lists.
      const isRefused = list !== "events" || refused === undefined || values(400).some((value) => refused.test(value));
      return isTaken && isRefused ? [] : [`${list}: ${name}${isTaken ? ", refused" : ""}`];
    }),
  );
  t.deepEqual(missing, []);
});

test("every field of every record is in a response that is compared byte by byte", (t) => {
  const missing = Object.entries(RECORDS).flatMap(([path, fields]) => {
    const bodies = ASKED.filter((asked) => asked.method === "GET" && leadsTo(asked.path, path)).map(
      ({ step }) => step.body ?? "",
    );
    return fields
      .split(" ")
      .filter((field) => !bodies.some((body) => body.includes(`"${field}":`)))
      .map((field) => `${path}: ${field}`);
  });
  t.deepEqual(missing, []);
});

test("every field of an event is posted", (t) => {
  const posts = ASKED.filter(
    ({ method, path, step }) => method === "POST" && leadsTo(path, "post:/1/logs/:log/events") && step.status === 201,
  );
  const missing = POSTED.filter(
    (field) =>
      !posts.some(({ step }) => step.form?.[field] !== undefined || new RegExp(`(^|&)${field}=`).test(step.data ?? "")),
  );
  t.deepEqual(missing, []);
});

const OWN_WORDS: ReadonlySet<string> = new Set(["bookmarks", "alerts", "classFilters"]);

/** Returns whether a step's path matches the path with these parameters. */
function leadsTo(path: string, pattern: string): boolean {
  const [words, wanted] = [path.split("/"), pattern.split("/")];
  return (
    words.length === wanted.length &&
    wanted.every((part, i) => (part.startsWith(":") ? words[i] !== "" && !OWN_WORDS.has(words[i]!) : part === words[i]))
  );
}

function formatOf({ step, parameters }: Asked): string {
  const accept = step.headers["Accept"] ?? "";
  return parameters.get("fmt") ?? (accept.includes("xml") ? "xml" : "json");
}
