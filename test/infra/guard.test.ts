import test from "ava";
import type { ExecutionContext } from "ava";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { isRunning, signal } from "../../infra/engines/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import type { Owned } from "./guarded-owner.ts";

const OWNER = new URL("./guarded-owner.ts", import.meta.url);

async function endsWith(t: ExecutionContext, { folder, engine, child }: Owned, end: () => unknown): Promise<void> {
  t.teardown(() => [engine, child].forEach((one) => signal(one, "SIGKILL")));
  await until(() => isRunning(engine) && isRunning(child), { what: "both to run" });
  t.true(existsSync(folder));
  await end();
  await until(() => !isRunning(engine) && !isRunning(child), { what: "both to end" });
  await until(() => !existsSync(folder), { what: "the folder to be removed" });
  t.pass();
}

for (const [where, env] of [
  ["", process.env],
  [", also where there are no programs besides", { ...process.env, PATH: "/nonexistent" }],
] as const) {
  test(`engines and children end with a killed process${where}`, async (t) => {
    const owner = spawn(process.execPath, [OWNER.pathname], { env, stdio: ["ignore", "pipe", "inherit"] });
    t.teardown(() => owner.kill("SIGKILL"));
    const [line] = (await once(owner.stdout, "data")) as [Buffer];
    await endsWith(t, JSON.parse(line.toString()) as Owned, () => owner.kill("SIGKILL"));
  });
}

test("engines and children end with a terminated thread, as when a test runner is stopped", async (t) => {
  const owner = new Worker(OWNER);
  t.teardown(() => owner.terminate());
  const [owned] = (await once(owner, "message")) as [Owned];
  await endsWith(t, owned, () => owner.terminate());
});

test("a guard acts unless it is disposed of, and keeps no process alive", async (t) => {
  const [done, calledOff] = ["done", "called-off"].map((name) => join(temporaryFolder(t), name)) as [string, string];
  const module = new URL("../../infra/engines/guard.ts", import.meta.url);
  const script = `
    import { spawn } from "node:child_process";
    import { once } from "node:events";
    import { killAfterExit, runAfterExit } from ${JSON.stringify(module)};
    const guard = runAfterExit("touch", [${JSON.stringify(calledOff)}]);
    await once(killAfterExit(spawn("true")), "exit");
    guard[Symbol.dispose]();
    runAfterExit("touch", [${JSON.stringify(done)}]);
  `;
  const owner = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
  t.deepEqual(await once(owner, "exit"), [0, null]);
  await until(() => existsSync(done), { what: "what is done after it" });
  t.false(existsSync(calledOff));
});
