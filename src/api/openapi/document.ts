import { z } from "zod";

import manifest from "../../../package.json" with { type: "json" };
import { STATUS_OF_CODE } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import type { Route } from "../../http/route.ts";
import { ACCESS_RULES } from "../../auth/requests/access.ts";
import type { Credentials } from "../../auth/requests/access.ts";
import { HEADERS, TAGS } from "../endpoint.ts";
import type { EndpointAnswer, Endpoint } from "../endpoint.ts";
import { ErrorRecord } from "../schemas/answers.ts";
import { LogKeyText } from "../schemas/event-answers.ts";
import { schemaName, NAMED_SCHEMAS } from "../schemas/named.ts";
import { errorsOfEndpoint } from "./errors.ts";
import { POSTING_ENDPOINTS } from "./posting.ts";

type Formats = Route["formats"];
type Json = { readonly [name: string]: unknown };

/** Parameters of paths that are common to several endpoints. */
const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  log: "The key of a log.",
  id: "The id of the record; bookmarks and alerts have the id of their event.",
  key: "The key of a class filter. Case does not matter.",
  email: "The e-mail address of an account. Case does not matter.",
  name: "The name of the record. Case does not matter.",
};

const FORMATS = ["json", "xml", "jsonp"];

function formatParameters(formats: Formats): Json[] {
  if (formats === "json") return [];
  if (formats === "files") {
    const schema = { type: "string", enum: ["ndjson", "json", "csv", "xml"] };
    return [parameter("fmt", schema, "Like `format`, which takes precedence over it; takes precedence over Accept.")];
  }
  const names = formats === "all" ? FORMATS : [...FORMATS, "html"];
  return [
    parameter("fmt", { type: "string", enum: names }, "The format; takes precedence over Accept."),
    parameter("callback", { type: "string", maxLength: 128 }, "With fmt=jsonp: the function to call."),
  ];
}

/** Returns the OpenAPI 3.1 document of these endpoints and of the posting listener. */
export function describeApi(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const endpoint of endpoints) (paths[template(endpoint.path)] ??= {})[keyOf(endpoint)] = describe(endpoint);
  for (const endpoint of POSTING_ENDPOINTS)
    (paths[template(endpoint.path)] ??= { servers: [POST_SERVER] })[keyOf(endpoint)] = describe(endpoint);
  return {
    openapi: "3.1.1",
    info: {
      title: "Loggia",
      version: manifest.version,
      description:
        `${manifest.description} ` +
        "Unknown parameters and fields are ignored; a known one with an invalid value is rejected.",
      license: { name: manifest.license, identifier: manifest.license },
    },
    servers: [{ url: "/", description: "The server of this document" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: describeSchemas(),
      headers: describeHeaders(),
      securitySchemes: {
        basic: { type: "http", scheme: "basic", description: "E-mail and password." },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "loggia",
          description: "A session; over TLS the cookie is __Host-loggia. Requests need the header X-Loggia: 1.",
        },
        apiKey: { type: "apiKey", in: "query", name: "apikey", description: "An API key of one log." },
        bearerKey: { type: "http", scheme: "bearer", description: "An API key, for posting." },
        headerKey: {
          type: "apiKey",
          in: "header",
          name: "X-API-Key",
          description: "An API key, for posting; the header apikey works too.",
        },
      },
    },
  };
}

const POST_SERVER = {
  url: "{post_url}/1",
  description: "The posting address",
  variables: { post_url: { default: "http://localhost:8081" } },
};

/** Converts `/logs/:log` to `/logs/{log}`. */
function template(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** Returns the name of an operation in its path item. */
function keyOf({ method }: Endpoint): string {
  return method.toLowerCase();
}

function describe(endpoint: Endpoint): Json {
  const { id, tag, summary, path, query, who, formats = "all" } = endpoint;
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => pathParameter(endpoint, name)),
    ...(query === undefined ? [] : queryParameters(query, endpoint.required ?? [])),
    ...formatParameters(formats),
  ];
  const content = describeBodies(endpoint);
  return {
    operationId: id,
    tags: [tag],
    summary,
    security: SECURITY[ACCESS_RULES[who].credentials],
    ...(parameters.length > 0 && { parameters }),
    ...(Object.keys(content).length > 0 && { requestBody: { required: true, content } }),
    responses: describeAnswers(endpoint, formats),
  };
}

/** Describes the request bodies of an endpoint, by content type. */
function describeBodies({ form, json, lines }: Endpoint): Json {
  return {
    ...(form && { "application/x-www-form-urlencoded": { schema: reference(schemaName(form)) } }),
    ...(json && { "application/json": { schema: reference(schemaName(json)) } }),
    ...(lines && { "application/x-ndjson": { schema: reference(schemaName(lines)) } }),
  };
}

/** Security schemes by credentials. A post may also carry its API key as a form field. */
const SECURITY = {
  none: [],
  session: [{ session: [] }],
  account: [{ basic: [] }, { session: [] }],
  "account or key": [{ basic: [] }, { session: [] }, { apiKey: [] }],
  "posting key": [{}, { apiKey: [] }, { bearerKey: [] }, { headerKey: [] }],
} as const satisfies Record<Credentials, unknown>;

function pathParameter({ path, parameters }: Endpoint, name: string): Json {
  const description = parameters?.[name] ?? PATH_PARAMETERS[name];
  if (description === undefined) throw new Error(`the parameter ${name} of ${path} has no description`);
  const schema = name === "log" ? reference(schemaName(LogKeyText)) : { type: "string" };
  return { name, in: "path", required: true, description, schema };
}

function queryParameters(query: z.ZodObject, required: readonly string[]): Json[] {
  return Object.entries(query.shape).map(([name, field]) => {
    const { description, ...schema } = withoutPlace(z.toJSONSchema(field as z.ZodType, { io: "input" }));
    return { ...parameter(name, schema, description ?? ""), ...(required.includes(name) && { required: true }) };
  });
}

/** Removes the members that identify a standalone schema. */
function withoutPlace(schema: z.core.JSONSchema.BaseSchema): z.core.JSONSchema.BaseSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "$schema" && name !== "$id"));
}

function parameter(name: string, schema: Json, description: string): Json {
  return { name, in: "query", ...(description !== "" && { description }), schema };
}

function describeAnswers(endpoint: Endpoint, formats: Formats): Json {
  const byStatus = Map.groupBy(errorsOfEndpoint(endpoint), (code) => STATUS_OF_CODE[code]);
  const answers = Object.entries(endpoint.answers).map(([status, answer]) => [status, describeAnswer(answer, formats)]);
  const errors = [...byStatus].map(([status, codes]) => [String(status), describeErrors(codes, formats)]);
  return Object.fromEntries([...answers, ...errors]);
}

function describeAnswer({ what, schema, streams, headers = [] }: EndpointAnswer, formats: Formats): Json {
  return {
    description: what,
    ...(headers.length > 0 && {
      headers: Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    }),
    ...(schema !== undefined && { content: { ...contentOf(schema, formats), ...htmlOf(formats) } }),
    ...(streams !== undefined && {
      content: Object.fromEntries(streams.map((type) => [type, { schema: { type: "string" } }])),
    }),
  };
}

function describeErrors(codes: readonly ErrorCode[], formats: Formats): Json {
  const status = STATUS_OF_CODE[codes[0]!];
  const header = ERROR_HEADERS[status];
  return {
    description: codes.join(", "),
    ...(header && { headers: { [header]: { $ref: `#/components/headers/${header}` } } }),
    content: contentOf(ErrorRecord, formats),
  };
}

const ERROR_HEADERS: Readonly<Record<number, string>> = {
  401: "WWW-Authenticate",
  405: "Allow",
  429: "Retry-After",
  503: "Retry-After",
};

/** Describes the content of a response. JSON Schema cannot describe its XML and JSONP forms. */
function contentOf(schema: z.ZodType, formats: Formats): Json {
  const json = { "application/json": { schema: reference(schemaName(schema)) } };
  if (formats === "json") return json;
  const text = { schema: { type: "string" } };
  return { ...json, "text/xml": text, ...(formats !== "files" && { "application/javascript": text }) };
}

function htmlOf(formats: Formats): Json {
  return formats === "all and html" ? { "text/html": { schema: { type: "string" } } } : {};
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function describeSchemas(): Json {
  const { schemas } = z.toJSONSchema(NAMED_SCHEMAS, { io: "input", uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, withoutPlace(schema)]));
}

function describeHeaders(): Json {
  const all = {
    ...HEADERS,
    "WWW-Authenticate": "How to authenticate: HTTP Basic.",
    Allow: "The methods of this path.",
    "Retry-After": "After how many seconds to retry.",
  };
  return Object.fromEntries(
    Object.entries(all).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}
