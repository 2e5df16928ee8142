import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { isRunning, launch, signal, stop, waitUntilReady } from "../../infra/engines/processes.ts";
import type { Detached } from "../../infra/engines/processes.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";

const FOREVER = "console.log('up'); setInterval(() => {}, 1000);";

async function launchNode(
  t: Parameters<typeof temporaryFolder>[0],
  script: string,
): Promise<Detached & { log: string }> {
  const log = join(temporaryFolder(t), "logs/engine.log");
  const mark = uniqueName("mark");
  const detached = await launch(process.execPath, ["-e", script, mark], mark, log);
  t.teardown(() => stop(detached, 0));
  return { ...detached, log };
}

const refuse = (): Promise<void> => Promise.reject(new Error("connection refused"));

const printed = (log: string, text: string): Promise<true> =>
  until(() => readFileSync(log, "utf8").includes(text) || null, { what: `${text} in the log` });

test("a process that ignores SIGTERM is killed after the grace period", async (t) => {
  let said = "";
  // A process that stalls for the grace period does not receive SIGTERM.
  for (let attempt = 1; attempt <= 5 && said !== "up\nno\n"; attempt += 1) {
    const stubborn = await launchNode(t, `process.on("SIGTERM", () => console.log("no")); ${FOREVER}`);
    await printed(stubborn.log, "up");
    const started = performance.now();
    await stop(stubborn, 300);
    t.false(isRunning(stubborn));
    t.true(performance.now() - started >= 300);
    said = readFileSync(stubborn.log, "utf8");
  }
  t.is(said, "up\nno\n");
});

test("a frozen process is continued so that it can end normally", async (t) => {
  const frozen = await launchNode(
    t,
    `process.on("SIGTERM", () => { console.log("bye"); process.exit(0); }); ${FOREVER}`,
  );
  await printed(frozen.log, "up");
  signal(frozen, "SIGSTOP");
  await stop(frozen);
  t.false(isRunning(frozen));
  t.is(readFileSync(frozen.log, "utf8"), "up\nbye\n");
});

test("a process that dies while starting fails the wait at once, with the end of its log", async (t) => {
  const dying = await launchNode(t, "for (let i = 1; i <= 30; i++) console.log(`line ${i}`); process.exit(3);");
  const error = await t.throwsAsync(waitUntilReady("Kafka", dying, dying.log, refuse), { instanceOf: StartError });
  t.true(error.message.startsWith(`Kafka ended while starting. The end of ${dying.log}:\nline 11\n`), error.message);
  t.true(error.message.endsWith("\nline 30"), error.message);
});

test("a process that never answers fails the wait at its deadline", async (t) => {
  const mute = await launchNode(t, FOREVER);
  const wait = waitUntilReady("Elasticsearch", mute, mute.log, refuse, { timeout_ms: 400 });
  const error = await t.throwsAsync(wait, { instanceOf: StartError });
  t.regex(error.message, /^Elasticsearch was not ready after 0\.4 s\. The end of /);
  t.is((error.cause as Error).message, "connection refused");
});

test("a missing program is reported in one clear line", async (t) => {
  const log = join(temporaryFolder(t), "log");
  await t.throwsAsync(launch("/no/such/java", [], "x", log), {
    instanceOf: StartError,
    message: /^Cannot start \/no\/such\/java: .*ENOENT/,
  });
});
