import type { z } from "zod";

import { OPERATIONS } from "../../src/api/openapi/document.ts";
import { errorsOf } from "../../src/api/openapi/operation.ts";
import type { Operation } from "../../src/api/openapi/operation.ts";
import { POSTING } from "../../src/api/openapi/posting.ts";
import { ErrorRecord } from "../../src/api/schemas/answers.ts";
import type { Step } from "./scenario.ts";

/**
 * Returns where a response differs from the OpenAPI description of its operation: status, headers,
 * body, error code and its kind.
 */
export function describedFaults(step: Step, response: Response, body: string): string[] {
  const [method = "", address = ""] = step.request.split(" ", 2);
  const described = operationOf(method, address);
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

function errorFaults(described: Operation | null, body: string): string[] {
  const value: unknown = JSON.parse(body);
  const parsed = ErrorRecord.safeParse(value);
  if (!parsed.success) return schemaFaults(ErrorRecord, value);
  const { code, message } = parsed.data.error;
  const faults = /^[A-Z]/.test(message) ? [] : [`the message does not begin with a capital letter: ${message}`];
  if (described !== null && !errorsOf(described).has(code))
    faults.push(`${described.id} is not described to fail with ${code}`);
  return faults;
}

function schemaFaults(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  return result.success ? [] : [`the body is not as described: ${JSON.stringify(result.error.issues)}`];
}

/**
 * Returns the operation with the most literal matching path, as the router chooses it; null if none
 * matches.
 */
export function operationOf(method: string, address: string): Operation | null {
  const path = address.replace(/\?.*$/, "").replace(/(?<=.)\/$/, "");
  const [operations, own] = path.startsWith("post:") ? [POSTING, path.replace(/^post:\/1/, "")] : [OPERATIONS, path];
  const verb = method === "HEAD" ? "GET" : method;
  const matching = Object.keys(operations)
    .filter((name) => name.startsWith(`${verb} `) && patternOf(name.slice(verb.length + 1)).test(own))
    .toSorted((a, b) => a.split(":").length - b.split(":").length);
  return operations[matching[0] ?? ""] ?? null;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`);
}
