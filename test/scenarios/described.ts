import type { z } from "zod";

import type { Endpoint } from "../../src/api/endpoint.ts";
import { errorsOfEndpoint } from "../../src/api/openapi/errors.ts";
import { ErrorRecord } from "../../src/api/schemas/answers.ts";
import { API_ENDPOINTS, POST_ENDPOINTS } from "../support/endpoints.ts";
import type { Step } from "./scenario.ts";

/**
 * Returns where a response differs from the OpenAPI description of its operation: status, headers,
 * body, error code and its kind.
 */
export function describedFaults(step: Step, response: Response, body: string): string[] {
  const [method = "", address = ""] = step.request.split(" ", 2);
  const described = endpointOf(method, address);
  const isJson = response.headers.get("Content-Type") === "application/json; charset=utf-8" && body !== "";
  if (response.status >= 400) return isJson ? errorFaults(described, body) : [];
  if (method === "OPTIONS") return [];
  if (described === null) return ["no operation is described for this address"];
  const answer = described.answers[response.status];
  if (answer === undefined) return [`${described.id} is not described to answer ${response.status}`];
  const missing = (answer.headers ?? []).filter((name) => name === "Location" && !response.headers.has(name));
  const faults = missing.map((name) => `${described.id} is described to answer with ${name}`);
  if (!isJson) return faults;
  if (answer.schema === undefined) return [...faults, `${described.id} is described to answer without a body`];
  return [...faults, ...schemaFaults(answer.schema, JSON.parse(body))];
}

function errorFaults(described: Endpoint | null, body: string): string[] {
  const value: unknown = JSON.parse(body);
  const parsed = ErrorRecord.safeParse(value);
  if (!parsed.success) return schemaFaults(ErrorRecord, value);
  const { code, message } = parsed.data.error;
  const faults = /^[A-Z]/.test(message) ? [] : [`the message does not begin with a capital letter: ${message}`];
  if (described !== null && !errorsOfEndpoint(described).has(code))
    faults.push(`${described.id} is not described to fail with ${code}`);
  return faults;
}

function schemaFaults(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  return result.success ? [] : [`the body is not as described: ${JSON.stringify(result.error.issues)}`];
}

/**
 * Returns the endpoint with the most literal matching path, as the router chooses it; null if none
 * matches.
 */
export function endpointOf(method: string, address: string): Endpoint | null {
  const path = address.replace(/\?.*$/, "").replace(/(?<=.)\/$/, "");
  const endpoints = path.startsWith("post:") ? POST_ENDPOINTS : API_ENDPOINTS;
  const verb = method === "HEAD" ? "GET" : method;
  const matching = [...endpoints.keys()]
    .filter((name) => name.startsWith(`${verb} `) && patternOf(name.slice(verb.length + 1)).test(path))
    .toSorted((a, b) => a.split(":").length - b.split(":").length);
  return endpoints.get(matching[0] ?? "") ?? null;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/(?<=\/):\w+/g, "[^/]+")}$`);
}
