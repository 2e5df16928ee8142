import { runAva } from "./ava.ts";
import type { AvaRun } from "./ava.ts";
import type { Tally } from "./tally.ts";

/** The time that ava adds to the title of a slow test. */
const TIME_TAKEN = / \([\d.]+(?:ms|s|m)[^)]*\)$/;

/**
 * Runs the same tests again and again, prints the report of each run that failed and one line for
 * the others, and at the end how often each failure occurred.
 * @returns the sum of all runs, with each failure once
 */
export async function repeat(repetitions: number, run: Omit<AvaRun, "print">): Promise<Tally> {
  const counts = new Map<string, number>();
  let [passed, failed, skipped, runs, failedRuns] = [0, 0, 0, 0, 0];
  for (; runs < repetitions && !run.signal.aborted; runs++) {
    const report: string[] = [];
    const start_ms = performance.now();
    const tally = await runAva({ ...run, print: (line) => report.push(line) });
    const took_s = (performance.now() - start_ms) / 1000;
    passed += tally.passed;
    failed += tally.failed;
    skipped += tally.skipped;
    if (tally.failed > 0) {
      failedRuns += 1;
      console.log(report.join("\n"));
    }
    const failures = tally.failures.map((failure) => failure.replace(TIME_TAKEN, ""));
    for (const failure of new Set(failures)) counts.set(failure, (counts.get(failure) ?? 0) + 1);
    console.log(
      `Run ${runs + 1} of ${repetitions}: ${tally.failed > 0 ? "FAILED" : "passed"} in ${took_s.toFixed(1)} s`,
    );
  }
  console.log(`${failedRuns} of ${runs} runs failed.`);
  const failures = [...counts].toSorted(([, a], [, b]) => b - a).map(([failure, count]) => `${count} × ${failure}`);
  if (failures.length > 0) console.log(["Failed:", ...failures].join("\n  "));
  return { passed, failed, skipped, failures };
}
