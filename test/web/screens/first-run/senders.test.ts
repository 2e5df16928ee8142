import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import test from "ava";
import type { ExecutionContext } from "ava";

import { PROGRAMS, SHIPPERS } from "../../../../src/web/screens/first-run/senders.ts";
import type { SenderTarget } from "../../../../src/web/screens/first-run/senders.ts";
import { isHere } from "../../../support/programs.ts";
import { get, KEY, LOG } from "../../../support/service.ts";
import type { Service } from "../../../support/service.ts";
import { shareService } from "../../../support/shared-service.ts";
import { temporaryFolder } from "../../../support/temporary.ts";
import { until } from "../../../support/until.ts";

let service: Service;
shareService((started) => (service = started));
const run = promisify(execFile);
const target = (): SenderTarget => ({ post: service.postUrl, log: LOG, key: KEY });

/** How the code of each tab is run: as a shell command, or from a file by a program. */
const RUN_BY: Readonly<
  Record<string, { readonly program: string; readonly file?: string; readonly by?: readonly string[] }>
> = {
  curl: { program: "sh" },
  "Node.js": { program: "node", file: "hello.mjs" },
  Python: { program: "python3", file: "hello.py" },
  Go: { program: "go", file: "hello.go", by: ["run"] },
  Java: { program: "java", file: "Hello.java" },
  PHP: { program: "php", file: "hello.php" },
  "A log file": { program: "sh" },
  "Lines of JSON": { program: "sh" },
  "loggia ship": { program: "sh" },
};
async function countOf(condition: string): Promise<number> {
  const query = encodeURIComponent(`GET events WHERE ${condition} COLUMNS(COUNT)`);
  const { body } = await get(service, `/1/logs/${LOG}/query?query=${query}`);
  return Number((body as readonly { count: string }[])[0]?.count ?? 0);
}

/** Runs copied code in a folder with a log file. */
async function runCode(t: ExecutionContext, name: string, code: string): Promise<void> {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, "app.log"), `first line for ${name}\nsecond line for ${name}\n`);
  const { program, file, by = [] } = RUN_BY[name]!;
  if (file !== undefined) writeFileSync(join(folder, file), code);
  // Uses this folder's command, and ends with the file.
  const command = code.replace("npx loggia", `node ${resolve("src/cli/loggia.mjs")}`).replace(" --follow", "");
  await run(program, file === undefined ? ["-c", command] : [...by, file], { cwd: folder, timeout: 400_000 });
}

for (const { name, code } of PROGRAMS) {
  const { program } = RUN_BY[name]!;
  (isHere(program) ? test.serial : test.serial.skip)(
    `the guide's code for ${name} sends an event when it is run`,
    async (t) => {
      t.timeout(500_000, "Compilers take minutes on a busy machine");
      const isFile = name === "A log file" || name === "loggia ship";
      const condition = isFile ? `text CONTAINS 'line for ${name}'` : `text = 'Hello from ${LOG}'`;
      const before = await countOf(condition);
      await runCode(t, name, code(target()));
      await until(async () => (await countOf(condition)) === before + (isFile ? 2 : 1), { what: "the event" });
      t.pass();
    },
  );
}

/** The smallest request of the protocol, to the address and with the key in a configuration. */
type Probe = (code: string) => {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
};

const JSON_TYPE = { "Content-Type": "application/json" };
const found = (code: string, expression: RegExp): string =>
  expression.exec(code)?.[1] ?? `nothing like ${String(expression)}`;
const PROBES: Readonly<Record<string, Probe>> = {
  OpenTelemetry(code) {
    const [header = "", key = ""] = found(code, /LOGS_HEADERS=(.*)/).split("=");
    const record = { body: { stringValue: "by OpenTelemetry" } };
    return {
      url: found(code, /LOGS_ENDPOINT=(.*)/),
      headers: { ...JSON_TYPE, [header]: key },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }),
    };
  },
  Elasticsearch: (code) => ({
    url: `${found(code, /hosts: \["(.*)"\]/)}/_bulk`,
    headers: {
      "Content-Type": "application/x-ndjson",
      Authorization: `ApiKey ${Buffer.from(found(code, /api_key: "(.*)"/)).toString("base64")}`,
    },
    body: `{"create":{"_index":"app"}}\n{"message":"by Elasticsearch"}\n`,
  }),
  Loki: (code) => ({
    url: found(code, /url += "(.*)"/),
    headers: { ...JSON_TYPE, Authorization: `Bearer ${found(code, /bearer_token = "(.*)"/)}` },
    body: JSON.stringify({ streams: [{ stream: {}, values: [[`${Date.now()}000000`, "by Loki"]] }] }),
  }),
  Splunk: (code) => ({
    url: found(code, /endpoint: (.*)/),
    headers: { Authorization: `Splunk ${found(code, /token: (.*)/)}` },
    body: JSON.stringify({ event: "by Splunk" }),
  }),
  Datadog: (code) => ({
    url: `${code.includes("logs_no_ssl: true") ? "http" : "https"}://${found(code, /logs_dd_url: "(.*)"/)}/api/v2/logs`,
    headers: { ...JSON_TYPE, "DD-API-KEY": found(code, /api_key: (.*)/) },
    body: JSON.stringify([{ message: "by Datadog" }]),
  }),
  Webhooks: (code) => ({ url: code, headers: JSON_TYPE, body: JSON.stringify({ title: "by Webhooks" }) }),
};

for (const { name, code } of SHIPPERS) {
  test.serial(`the guide's configuration for ${name} has an address and a key that accept its events`, async (t) => {
    const text = name === "GELF" ? "Order 17 failed" : `by ${name}`;
    if (name === "GELF") await run("sh", ["-c", code(target())], { timeout: 400_000 });
    else {
      const { url, headers, body } = PROBES[name]!(code(target()));
      const response = await fetch(url, { method: "POST", headers, body });
      t.true(response.ok, `${url} was answered ${response.status} ${await response.text()}`);
    }
    await until(async () => (await countOf(`text = '${text}'`)) === 1, { what: "the event" });
    t.pass();
  });

  test(`the guide's code for ${name} is that of its page in the docs`, (t) => {
    const page = { OpenTelemetry: "otlp" }[name] ?? name.toLowerCase();
    const written = readFileSync(`docs/producers/${page}.md`, "utf8");
    const shown = code({ post: "http://127.0.0.1:8081", log: "shop", key: "shop-key-1" });
    t.true(written.includes(shown), `docs/producers/${page}.md does not hold\n${shown}`);
  });
}

test("an address behind TLS keeps its scheme", (t) => {
  const shown = (name: string) =>
    [...PROGRAMS, ...SHIPPERS]
      .find((sender) => sender.name === name)!
      .code({ post: "https://in.example.org", log: "shop", key: "k" });
  t.regex(shown("Datadog"), /logs_dd_url: "in\.example\.org:443"\n {2}logs_no_ssl: false/);
  t.regex(shown("loggia ship"), /--post https:\/\/in\.example\.org /);
});
