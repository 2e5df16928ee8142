import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "../../support/until.ts";
import type { Fault } from "../chaos.ts";
import { assertAnswers, measureRecovery_ms, keptFigures, seconds } from "../measure.ts";
import { LAUNCHER } from "../program.ts";
import { ADMIN, openScene } from "../scene.ts";

export const backup: Fault = {
  name: "backup",
  passes:
    "the embedded files are backed up under load, and the service goes on from the copy: all that was acknowledged before the backup began is there, once and as it was posted",
  cluster: false,
  async run(chaos) {
    const [posts, backups] = chaos.full ? [10_000, 5] : [1_000, 1];
    const scene = await openScene(chaos, { kind: "embedded" });
    const { ledger } = scene;
    const program = scene.program("all");
    let slowest_ms = 0;
    for (let round = 1; round <= backups; round++) {
      const load = scene.load({ producers: 16, rate: 1_000 });
      const due = ledger.accepted + posts;
      await until(() => ledger.accepted >= due, { what: `${due} posts`, timeout_ms: 120_000 });
      const before = ledger.issued;
      const owed = new Set(Array.from({ length: before }, (_, n) => n).filter((n) => ledger.isAccepted(n)));
      const start_ms = performance.now();
      const copy = join(chaos.folder, `copy-${round}`);
      await loggia(["backup", copy, "--api", scene.readers[0].url], { LOGGIA_AS: `${ADMIN.email}:${ADMIN.password}` });
      slowest_ms = Math.max(slowest_ms, performance.now() - start_ms);
      await measureRecovery_ms(load.nextAccepted(), "a backup");
      await load.stop();
      assertAnswers(load, { unanswered: false });
      assert.ok(ledger.issued > before, "nothing was posted during the backup");
      const data = join(chaos.folder, `restored-${round}`);
      await loggia(["restore", copy], { LOGGIA_DATA: data });
      await program.kill();
      // Events posted after the backup began may be in the copy or not.
      ledger.release((n) => !owed.has(n));
      await program.start({ LOGGIA_DATA: data });
      await scene.settle();
    }
    const verdict = await scene.settle();
    return { backups, ...keptFigures(verdict), "slowest backup": seconds(slowest_ms) };
  },
};

/**
 * Runs the command as an operator does.
 * @throws Error with its output if it fails
 */
async function loggia(args: readonly string[], environment: Record<string, string>): Promise<void> {
  const env = { PATH: process.env["PATH"], ...environment };
  await promisify(execFile)(process.execPath, [LAUNCHER, ...args], { env });
}
