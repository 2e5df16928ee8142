import { setTimeout as delay } from "node:timers/promises";

import type { Service } from "./engine.ts";
import { describedFaults } from "./described.ts";
import { differences } from "./match.ts";
import type { Scenario, Step } from "./scenario.ts";
import { fill } from "./names.ts";
import type { Names } from "./names.ts";
import { PASSWORD, seed } from "./seed.ts";

const HORIZON_TIMEOUT_MS = 90_000;
const HORIZON_POLL_MS = 250;

/**
 * Runs a scenario.
 * @throws Error with the step and all differences
 */
export async function runScenario(service: Service, scenario: Scenario): Promise<void> {
  const names = await seed(service, scenario);
  for (const step of scenario.steps) {
    const filled = fill(step, names) as Step;
    const body = await play(service, filled, scenario, names);
    for (const [name, path] of Object.entries(filled.keep)) names.set(name, String(valueAt(JSON.parse(body), path)));
    if (changesSomething(step)) await service.settle();
  }
}

function changesSomething({ request }: Step): boolean {
  return request.includes(" post:") || !/^(GET|HEAD|OPTIONS) /.test(request);
}

/**
 * Runs a step and returns the response. On a cluster a list with `sinceid` is a few seconds behind,
 * so it is requested again until it is as expected.
 */
async function play(service: Service, step: Step, scenario: Scenario, names: Names): Promise<string> {
  const until_ms = performance.now() + (step.request.includes("sinceid=") ? HORIZON_TIMEOUT_MS : 0);
  for (;;) {
    const { response, body } = await send(service, step, scenario, names);
    const faults = [...check(step, response, body), ...describedFaults(step, response, body)];
    if (faults.length === 0) return body;
    if (performance.now() >= until_ms)
      throw new Error(`step "${step.name}": ${step.request}\n  ${faults.join("\n  ")}`);
    await delay(HORIZON_POLL_MS);
  }
}

async function send(service: Service, step: Step, scenario: Scenario, names: Names) {
  const [method = "", address = ""] = step.request.split(" ", 2);
  const toPost = address.startsWith("post:");
  const url = new URL((toPost ? service.postUrl : service.apiUrl) + address.replace(/^post:/, ""));
  for (const [name, value] of Object.entries(step.query)) url.searchParams.set(name, value);
  const headers = new Headers({ "Accept-Encoding": "identity", ...step.headers });
  const caller = step.as ?? (toPost || url.searchParams.has("apikey") ? "nobody" : scenario.as);
  if (caller !== "nobody" && !headers.has("Authorization"))
    headers.set("Authorization", basic(names.get(caller) ?? caller));
  const { body, type } = bodyOf(step);
  if (type !== null && !headers.has("Content-Type")) headers.set("Content-Type", type);
  const response = await fetch(url, { method, headers, redirect: "manual", ...(body !== null && { body }) });
  return { response, body: await response.text() };
}

function basic(email: string): string {
  return `Basic ${Buffer.from(`${email}:${PASSWORD}`).toString("base64")}`;
}

function bodyOf({ form, send, data }: Step): { body: string | null; type: string | null } {
  if (form !== undefined)
    return { body: new URLSearchParams(form).toString(), type: "application/x-www-form-urlencoded" };
  if (send !== undefined) return { body: JSON.stringify(send), type: "application/json" };
  return data === undefined ? { body: null, type: null } : { body: data, type: "application/x-www-form-urlencoded" };
}

function check(step: Step, response: Response, body: string): string[] {
  const faults: string[] = [];
  if (response.status !== step.status)
    faults.push(`the status is ${response.status} instead of ${step.status}: ${body}`);
  for (const [name, value] of Object.entries(step.answers)) {
    faults.push(...differences(value, response.headers.get(name) ?? undefined, `the header ${name}`));
  }
  for (const name of step.without) {
    if (response.headers.has(name)) faults.push(`there is a header ${name}: ${response.headers.get(name)}`);
  }
  if (step.body !== undefined && body !== step.body)
    faults.push(`the body is\n    ${body}\n  instead of\n    ${step.body}`);
  for (const part of step.contains) if (!body.includes(part)) faults.push(`the body lacks ${part}: ${body}`);
  return [...faults, ...checkJson(step, body)];
}

function checkJson(step: Step, body: string): string[] {
  const columns = Object.entries(step.column);
  if (step.json === undefined && columns.length === 0 && step.error === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return [`the body is not JSON: ${body}`];
  }
  return [
    ...(step.json === undefined ? [] : differences(step.json, value)),
    ...(step.error === undefined
      ? []
      : differences({ error: { status: step.status, code: step.error, message: "$match ." } }, value)),
    ...columns.flatMap(([name, expected]) =>
      Array.isArray(value)
        ? differences(
            expected,
            value.map((item: Record<string, unknown>) => item[name]),
            `the column ${name}`,
          )
        : [`the answer is no list: ${body}`],
    ),
  ];
}

/** Returns the value at a path such as `0.id` of a JSON response. */
function valueAt(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((parent, name) => (parent as Record<string, unknown> | null)?.[name], value);
}
