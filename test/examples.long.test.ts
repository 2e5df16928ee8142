import { execFile } from "node:child_process";
import { promisify } from "node:util";
import test from "ava";

import { launchChromium } from "../infra/chromium.ts";
import { isHere } from "./support/programs.ts";
import { KEY, LOG, postOnce, serviceOf } from "./support/service.ts";
import { until } from "./support/until.ts";

const run = promisify(execFile);
const FOLDER = new URL("../examples/", import.meta.url);
const PROGRAMS = [
  { file: "curl.sh", command: ["sh"], tool: "curl" },
  { file: "tail.mjs", command: [process.execPath], tool: "node" },
  { file: "poll.py", command: ["python3"], tool: "python3" },
  { file: "export.go", command: ["go", "run"], tool: "go" },
] as const;

for (const { file, command, tool } of PROGRAMS) {
  (isHere(tool) ? test : test.skip)(`examples/${file} posts orders and reads them back`, async (t) => {
    t.timeout(300_000);
    const service = await serviceOf(t, "embedded");
    const [program, ...arguments_] = command;
    const { stdout, stderr } = await run(program, [...arguments_, new URL(file, FOLDER).pathname], {
      env: {
        ...process.env,
        LOGGIA_API: service.apiUrl,
        LOGGIA_POST: service.postUrl,
        LOGGIA_LOG: LOG,
        LOGGIA_KEY: KEY,
      },
    });
    t.is(stderr, "");
    for (const text of ["Order 1 paid", "Order 2 paid", "Order 3 failed"]) t.true(stdout.includes(text), stdout);
  });
}

test("examples/dashboard.html shows the answers of its queries", async (t) => {
  t.timeout(600_000, "The browser may have to be installed first");
  const service = await serviceOf(t, "embedded");
  const browser = await launchChromium();
  t.teardown(() => browser.close());
  await postOnce(service, { text: "Order 1 failed", tags: "error order", attributes: { reason: "card" } });
  const page = await browser.newPage();
  await page.goto(new URL("dashboard.html", FOLDER).href);
  await page.getByLabel("API").fill(service.apiUrl);
  await page.getByLabel("Log").fill(LOG);
  await page.getByLabel("Key").fill(KEY);
  const rows = page.getByRole("row", { name: "card 1" });
  await until(
    async () => {
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByText("Read at").waitFor();
      return (await rows.count()) === 1;
    },
    { what: "the reason of the failed order" },
  );
  t.is(await page.getByRole("heading", { level: 2 }).count(), 3);
  await page.getByLabel("Key").fill("wrong");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("Loggia refuses the request").waitFor();
});
