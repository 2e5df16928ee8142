import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import { ADMIN } from "../support/service.ts";
import { Fault } from "./target.ts";
import type { Target } from "./target.ts";

const VERSION = "4.32.5";
const FOLDER = resolve(".engines/schemathesis");
const INSTALL_TIMEOUT_MS = 240_000;

/** Checks of every response: it matches the OpenAPI document, and there is no server error. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
];

/**
 * Options of every run. All requests use one password, so `setPassword` is excluded below: after it
 * every response would be 401.
 */
const OPTIONS = [
  `--auth=${ADMIN.email}:${ADMIN.password}`,
  `--checks=${CHECKS.join(",")}`,
  "--phases=examples,coverage,fuzzing,stateful",
  "--warnings=off",
  "--request-timeout=30",
  "--workers=1",
  "--no-color",
];

/**
 * Runs Schemathesis, which generates requests from the OpenAPI document and checks the responses.
 * @returns false if it could not be installed; the reason was printed
 */
export async function runSchemathesis(target: Target, seconds: number, seed: number): Promise<boolean> {
  const program = join(FOLDER, "bin/schemathesis");
  if (!existsSync(program) && !(await install())) return false;
  // The posting address is another server in the document, whose paths have no version prefix.
  const runs = [
    [`--exclude-path-regex=^/logs/`, "--exclude-operation-id=setPassword", `--max-time=${Math.ceil(seconds * 0.7)}`],
    [`--include-path-regex=^/logs/`, `--url=${target.post.url}/1`, `--max-time=${Math.ceil(seconds * 0.3)}`],
  ];
  for (const options of runs) {
    const code = await run(program, [
      "run",
      `${target.api.url}/openapi.json`,
      ...OPTIONS,
      `--seed=${seed}`,
      ...options,
    ]);
    if (code !== 0) throw new Fault("Schemathesis found answers that are not as the OpenAPI document says; see above");
  }
  await target.check("Schemathesis");
  return true;
}

async function install(): Promise<boolean> {
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ["python3", ["-m", "venv", FOLDER]],
    [join(FOLDER, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `schemathesis==${VERSION}`]],
  ];
  for (const [program, args] of steps) {
    const code = await run(program, args, INSTALL_TIMEOUT_MS).catch((error: Error) => error.message);
    if (code !== 0) {
      console.log(
        `Schemathesis could not be installed (${program} ${args.join(" ")}: ${code}); that part is left out.`,
      );
      return false;
    }
  }
  return true;
}

function run(program: string, args: readonly string[], timeout_ms?: number): Promise<number | string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "inherit", ...(timeout_ms !== undefined && { timeout: timeout_ms }) });
    const stop = (): boolean => child.kill();
    process.once("exit", stop);
    child.on("error", reject).on("exit", (code, signal) => {
      process.off("exit", stop);
      resolve(code ?? String(signal));
    });
  });
}
