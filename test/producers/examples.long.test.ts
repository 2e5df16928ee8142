import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import test from "ava";

import { eventsOf, send } from "../ingest/posting.ts";
import { isHere } from "../support/programs.ts";
import { environmentOf, KEY, LOG, serviceOf, startService } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { snippetOf, snippetsOf } from "./snippets.ts";

const run = promisify(execFile);

/** The programs in `docs/producers`, and the tool that each needs. */
const EXAMPLES = [
  { page: "shell", file: "example.sh", command: ["sh"], tool: "curl" },
  { page: "python", file: "example.py", command: ["python3"], tool: "python3" },
  { page: "go", file: "main.go", command: ["go", "run"], tool: "go" },
  { page: "java", file: "Example.java", command: ["java"], tool: "java" },
  { page: "php", file: "example.php", command: ["php"], tool: "php" },
] as const;

for (const { page, file, command, tool } of EXAMPLES) {
  (isHere(tool) ? test : test.skip)(`the example for ${page} posts`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, "embedded");
    const code = snippetsOf(`docs/producers/${page}.md`)[0]!.code;
    const folder = temporaryFolder(t);
    const path = join(folder, file);
    writeFileSync(path, code.replaceAll("/1/logs/shop", `/1/logs/${LOG}`));
    const [program, ...arguments_] = command;
    const env = {
      ...process.env,
      LOGGIA_URL: service.postUrl,
      LOGGIA_KEY: KEY,
      GOFLAGS: "-mod=mod",
      GO111MODULE: "off",
    };
    const { stderr } = await run(program, [...arguments_, path], { env, cwd: folder });
    t.is(stderr.replaceAll(/^.*(?:INFO|SEVERE|Example main).*\n?|^.*Order 17 failed\n/gm, ""), "");
    const count = page === "shell" ? 4 : 1;
    const events = await eventsOf(service, count);
    t.is(events.length, count);
    const order = events.find((event) => event.text === "Order 17 failed");
    t.like(order, { source: "shop", tags: ["error"] });
  });
}

(isHere("python3") ? test : test.skip)("Python's HTTPHandler posts messages with their arguments", async (t) => {
  t.timeout(300_000);
  const service = await serviceOf(t, "embedded");
  const replace = { "127.0.0.1:8081": new URL(service.postUrl).host, "shop-key-1": KEY };
  const code = snippetOf("docs/producers/python.md", "python", { n: 1, replace });
  const { stderr } = await run("python3", ["-c", code]);
  t.is(stderr, "");
  const [event] = await eventsOf(service, 1);
  t.like(event, { text: "Order 17 failed", tags: ["error"] });
  t.is(event!.attributes?.["args"], undefined);
});

test("what Telegraf's transformation makes of metrics are events of their own", async (t) => {
  const service = await serviceOf(t, "embedded");
  const configured = snippetOf("docs/producers/telegraf.md", "toml", { replace: { "shop-key-1": KEY } });
  const headers = Object.fromEntries(
    [...configured.matchAll(/^ {4}(\S+) = "(.*)"$/gm)].map(([, name, value]): [string, string] => [name!, value!]),
  );
  t.deepEqual(Object.keys(headers), ["Authorization", "Content-Type"]);
  const metrics = [
    {
      host: "box",
      path: "/var/log/app.log",
      message: "Order 17 failed",
      level: "error",
      time: Date.now(),
      measurement: "tail",
    },
    { host: "box", message: "Order 18 paid", time: Date.now(), measurement: "tail" },
  ];
  const { status } = await send(service, "/lines", JSON.stringify(metrics), { headers });
  t.is(status, 201);
  const events = await eventsOf(service, 2);
  t.like(
    events.find((event) => event.text === "Order 17 failed"),
    { source: "box", tags: ["error"], attributes: { path: "/var/log/app.log", measurement: "tail" } },
  );
  // With one metric, JSONata returns it without a list.
  t.is((await send(service, "/lines", JSON.stringify(metrics[0]), { headers })).status, 201);
});

(isHere("curl") ? test : test.skip)(
  "the README's commands work with the key and password of a first start",
  async (t) => {
    t.timeout(300_000);
    const admin = "admin@localhost:a-password-of-the-first-start";
    const given = { LOGGIA_ADMIN: admin, LOGGIA_LOG: `first-log:${KEY}` };
    const service = await startService({ ...environmentOf("embedded", temporaryFolder(t)), ...given });
    t.teardown(() => service.close());
    const replace = {
      "lg_…": KEY,
      "admin@localhost:…": admin,
      "http://127.0.0.1:8081": service.postUrl,
      "http://127.0.0.1:8080": service.apiUrl,
    };
    const block = snippetOf("README.md", "console", { n: 1, replace });
    const commands = block.split("\n").flatMap((line) => (line.startsWith("$ ") ? [line.slice(2)] : []));
    t.is(commands.length, 4);
    const answers = await until(
      async () => {
        const { stdout } = await run("sh", ["-ec", commands.join("; echo;")]);
        const [, posted = "", listed = "", grouped = ""] = stdout.split("\n");
        return JSON.parse(listed).length > 0 && JSON.parse(grouped).length > 0 ? { posted, listed } : null;
      },
      { what: "a posted event to be listed" },
    );
    t.regex(answers.posted, /^\{"id":"[0-9a-f]{24}"\}$/);
    t.like(JSON.parse(answers.listed)[0], { text: "Hello, Loggia", tags: ["hello"], log: "first-log", value: 1 });
  },
);
