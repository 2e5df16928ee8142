import test from "ava";
import { z } from "zod";

import { apiEndpoints } from "../../src/api/endpoints.ts";
import { describeApi } from "../../src/api/openapi/document.ts";
import { POSTING_ENDPOINTS } from "../../src/api/openapi/posting.ts";
import * as answers from "../../src/api/schemas/answers.ts";
import { EventRecord } from "../../src/api/schemas/event-answers.ts";
import { ListQuery, LqlQuery } from "../../src/api/schemas/inputs.ts";
import { EVENT_FIELDS } from "../../src/events/field-order.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { LogKey } from "../../src/events/event.ts";
import { planFilters } from "../../src/query/filters.ts";
import { AGGREGATE_FIELDS, USER_FIELDS } from "../../src/query/plan.ts";
import { parseZone } from "../../src/query/zone.ts";
import { serviceOf } from "../support/service.ts";

type Json = { readonly [name: string]: unknown };
type Described = {
  readonly operationId: string;
  readonly tags: string[];
  readonly parameters?: {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Json;
  }[];
  readonly requestBody?: { readonly content: Json };
  readonly security: Json[];
  readonly responses: Record<string, { readonly description: string; readonly content?: Json }>;
};
type Document = {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly tags: { readonly name: string }[];
  readonly paths: Record<string, Record<string, unknown>>;
  readonly components: Record<"schemas" | "securitySchemes" | "headers", Json>;
};

const endpoints = apiEndpoints();
const document = JSON.parse(JSON.stringify(describeApi(endpoints))) as unknown as Document;
const METHODS = ["get", "post", "put", "patch", "delete"];

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([method]) => METHODS.includes(method))
    .map(([method, operation]) => ({ path, method, operation: operation as Described, elsewhere: "servers" in item })),
);

/** Yields every object of a JSON value with its path. */
function* objectsOf(value: unknown, place = "#"): Generator<readonly [string, Json]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield [place, value as Json];
  for (const [name, child] of Object.entries(value)) yield* objectsOf(child, `${place}/${name}`);
}

function resolve(reference: string): unknown {
  return reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((parent, name) => (parent as Json | undefined)?.[name], document);
}

test("every route of the router is described, and no other", (t) => {
  const described = operations.filter(({ elsewhere }) => !elsewhere);
  const names = described.map(({ path, method }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`);
  const routed = endpoints.map(({ method, path }) => `${method} ${path}`);
  t.deepEqual(names.toSorted(), routed.toSorted());
  t.is(operations.length - described.length, POSTING_ENDPOINTS.length);
});

test("a parameter of a path without a description is reported by name", (t) => {
  const [endpoint] = endpoints;
  t.throws(() => describeApi([{ ...endpoint!, path: "/1/new/:thing" }]), { message: /thing of \/1\/new\/:thing/ });
  const parameters = { thing: "The thing." };
  t.notThrows(() => describeApi([{ ...endpoint!, path: "/1/new/:thing", parameters }]));
});

test("summaries name admins where the declared access needs one, and only there", (t) => {
  for (const { id, who, summary } of endpoints) {
    t.is(/; for (its admins|admins of the log)$/.test(summary), who === "log admin", id);
    t.is(summary.endsWith("; for service admins"), who === "service admin", id);
    t.is(summary.includes("as a service admin"), who === "own account or service admin", id);
  }
});

test("the document has the top-level fields of OpenAPI 3.1 and no others", (t) => {
  t.regex(document.openapi, /^3\.1\.\d+$/);
  t.truthy(document.info.title && document.info.version);
  t.deepEqual(Object.keys(document).toSorted(), ["components", "info", "openapi", "paths", "servers", "tags"]);
  for (const [path, item] of Object.entries(document.paths)) {
    t.regex(path, /^\//);
    const allowed = new Set([...METHODS, "servers", "parameters", "summary", "description"]);
    t.deepEqual(
      Object.keys(item).filter((name) => !allowed.has(name)),
      [],
      path,
    );
  }
});

test("no two paths differ in parameter names alone", (t) => {
  const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, "{}"));
  t.is(new Set(shapes).size, shapes.length);
});

for (const { path, method, operation } of operations) {
  test(`the description of ${method} ${path} follows the rules`, (t) => {
    const parameters = operation.parameters ?? [];
    const inPath = parameters.filter((parameter) => parameter.in === "path");
    t.deepEqual(
      inPath.map(({ name }) => name).toSorted(),
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name).toSorted(),
      "every parameter of the path is declared",
    );
    t.true(inPath.every(({ required }) => required === true));
    t.is(new Set(parameters.map((parameter) => `${parameter.in} ${parameter.name}`)).size, parameters.length);
    for (const parameter of parameters) {
      t.true(["path", "query"].includes(parameter.in));
      t.is(typeof parameter.schema, "object", parameter.name);
    }
    t.true(["post", "put", "patch"].includes(method) || operation.requestBody === undefined);
    t.not(Object.keys(operation.responses).length, 0);
    for (const [status, { description, content }] of Object.entries(operation.responses)) {
      t.regex(status, /^[2345]\d\d$/);
      t.truthy(description);
      t.is(status === "204", content === undefined, `${status} has content unless it is 204`);
    }
    const tags = new Set(document.tags.map(({ name }) => name));
    t.true(operation.tags.length === 1 && operation.tags.every((tag) => tags.has(tag)));
    const schemes = Object.keys(document.components.securitySchemes);
    t.true(operation.security.every((scheme) => Object.keys(scheme).every((name) => schemes.includes(name))));
  });
}

test("operation ids are unique and valid identifiers", (t) => {
  const ids = operations.map(({ operation }) => operation.operationId);
  t.is(new Set(ids).size, ids.length);
  for (const id of ids) t.regex(id, /^[a-z][A-Za-z]+$/);
});

test("every reference resolves, and every component is referenced", (t) => {
  const references = [...objectsOf(document)].flatMap(([place, value]) =>
    typeof value["$ref"] === "string" ? [{ place, to: value["$ref"] }] : [],
  );
  t.true(references.length > 100);
  for (const { place, to } of references) t.is(typeof resolve(to), "object", `${place} refers to ${to}`);
  const referred = new Set(references.map(({ to }) => to));
  for (const kind of ["schemas", "headers"] as const) {
    for (const name of Object.keys(document.components[kind]))
      t.true(referred.has(`#/components/${kind}/${name}`), name);
  }
});

test("schemas use only keywords of JSON Schema, with valid types and patterns", (t) => {
  const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
  for (const [place, value] of objectsOf(document)) {
    if (!/\/(schema|schemas\/\w+)(\/|$)/.test(place) || place.endsWith("/properties")) continue;
    const { type, pattern, required, properties } = value as {
      type?: string | string[];
      pattern?: string;
      required?: string[];
      properties?: Json;
    };
    for (const one of [type ?? []].flat()) t.true(types.has(one), `${place}: ${one}`);
    if (pattern !== undefined) t.notThrows(() => new RegExp(pattern, "u"), place);
    if (required !== undefined)
      t.true(
        required.every((name) => name in (properties ?? {})),
        place,
      );
    t.false("$schema" in value || "$id" in value || "~standard" in value, place);
  }
});

test("records have the fields that plans know, in their order", (t) => {
  t.deepEqual(Object.keys(EventRecord.shape), [...EVENT_FIELDS, "attributes"]);
  const [events, groups, users] = answers.QueryAnswer.options.map((list) => Object.keys(list.element.shape));
  t.deepEqual(
    [events, groups, users],
    [[...EVENT_FIELDS, "attributes", "pattern", "level"], [...AGGREGATE_FIELDS, "keys", "previous"], [...USER_FIELDS]],
  );
});

/** Valid and invalid values of parameters. */
const SAMPLES: Readonly<Record<keyof typeof ListQuery.shape, readonly string[]>> = {
  pagenum: ["1", "2", "2000000", "2000001", "0", "-1", "1.5", "x"],
  pagesize: ["1", "100", "500", "501", "0", "-1", "0.5", "all"],
  order: ["asc", "desc", "up", "ascending"],
  tags: ["a", "a b"],
  text: ["disk", "^a.*b$"],
  sinceid: ["4dfdfd4d0000000000000000", "4DFDFD4D0000000000000000", "4dfdfd4d", "4dfdfd4d000000000000000g", "17"],
  source: ["web"],
  user: ["carla"],
  class: ["errors"],
  level: ["error", "panic", "notice", "severe"],
  created: ["0", "-1", "1:2", "1:", ":2", ":", "today", "1:2:3", "1.5", "12345678901234567"],
};

for (const [name, samples] of Object.entries(SAMPLES)) {
  test(`the description of parameter ${name} accepts what the parser accepts`, (t) => {
    const schema = ListQuery.shape[name as keyof typeof SAMPLES];
    for (const sample of samples) {
      const list = { from: { kind: "events" as const }, logs: [parseLogKey("shop") as LogKey] };
      const good = !throws(() => planFilters(new URLSearchParams({ [name]: sample }), list));
      t.is(accepts(schema, sample), good, sample);
    }
  });
}

test("the description of parameter tz accepts what the parser accepts", (t) => {
  for (const tz of ["0", "-12", "14", "5.75", "14.5", "-12.5", "x"]) {
    t.is(accepts(LqlQuery.shape.tz, tz), !throws(() => parseZone(tz)), tz);
  }
});

/**
 * Returns whether a parameter's schema accepts the text of a query string, which is read as a
 * number if the schema has one.
 */
function accepts(schema: z.ZodType, text: string): boolean {
  const { type } = z.toJSONSchema(schema, { io: "input" });
  return schema.safeParse(type === "string" ? text : Number(text)).success;
}

function throws(run: () => unknown): boolean {
  try {
    run();
    return false;
  } catch {
    return true;
  }
}

test("the document is public, and JSON whatever format is requested", async (t) => {
  const { apiUrl } = await serviceOf(t, "embedded");
  const response = await fetch(`${apiUrl}/openapi.json?fmt=xml`, { headers: { Accept: "text/xml" } });
  t.is(response.status, 200);
  t.is(response.headers.get("Content-Type"), "application/json; charset=utf-8");
  t.deepEqual(await response.json(), document);
});
