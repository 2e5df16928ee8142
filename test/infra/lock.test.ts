import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import test from "ava";
import { withLock } from "../../infra/engines/lock.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROJECT } from "./support.ts";

test("one caller holds the lock at a time, and an error releases it", async (t) => {
  const file = join(temporaryFolder(t), "a/lock");
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    inside--;
    throw new Error("as planned");
  };
  const results = await Promise.allSettled([1, 2, 3].map(() => withLock(file, 120_000, work)));
  t.deepEqual(
    results.map((result) => result.status === "rejected" && (result.reason as Error).message),
    ["as planned", "as planned", "as planned"],
  );
  t.is(most, 1);
});

test("another process holds the lock until it is killed", async (t) => {
  const file = join(temporaryFolder(t), "lock");
  const lock = join(PROJECT, "infra/engines/lock.ts");
  const script = `import { setTimeout as sleep } from "node:timers/promises";
    import { withLock } from ${JSON.stringify(lock)};
    await withLock(${JSON.stringify(file)}, 1000, () => { console.log("held"); return sleep(600_000); });`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script]);
  t.teardown(() => holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  await t.throwsAsync(
    withLock(file, 100, async () => {}),
    { instanceOf: StartError, message: /has been holding/ },
  );

  holder.kill("SIGKILL");
  await once(holder, "exit");
  t.is(await withLock(file, 0, async () => "in"), "in");
});
