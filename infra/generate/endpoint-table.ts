import { ACCESS_RULES } from "../../src/auth/requests/access.ts";
import type { Who } from "../../src/auth/requests/access.ts";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { apiEndpoints } from "../../src/api/endpoints.ts";
import { POSTING_ENDPOINTS } from "../../src/api/openapi/posting.ts";

/** Returns the table of who may call which endpoint, in Markdown. */
export function endpointTable(): string {
  const endpoints = apiEndpoints().map((endpoint) => row(endpoint, endpoint.path));
  const posting = POSTING_ENDPOINTS.map((endpoint) => row(endpoint, `post:/1${endpoint.path}`));
  const access = Object.keys(ACCESS_RULES).map((who) => `| ${who} | ${ACCESS_RULES[who as Who].summary} |`);
  return [
    "| access | who that is |",
    "|---|---|",
    ...access,
    "",
    "| endpoint | access | success | errors besides those of every call and of its access |",
    "|---|---|---|---|",
    ...endpoints,
    ...posting,
  ].join("\n");
}

function row({ method, who, answers, errors = [] }: Endpoint, path: string): string {
  const own = errors.filter((code) => !ACCESS_RULES[who].errors.includes(code)).map((code) => `\`${code}\``);
  const cells = [`\`${method} ${path}\``, who, Object.keys(answers).join(", "), own.join(", ")];
  return `| ${cells.join(" | ")} |`.replaceAll(/ {2,}/g, " ");
}
