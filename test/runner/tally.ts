import { stripVTControlCharacters } from "node:util";

/** The totals of an ava run, and the lines of its report that name a failure. */
export type Tally = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
};

/** Patterns of the lines that ava writes for each event ... */
const PASSED = /^ {2}✔ (?!\[expected fail\] )/;
const SKIPPED = /^ {2}- \[skip\] /;
const FILE_FAILED = /^ {2}(?:✘ (?:No tests found in |Internal error|Couldn’t find any )|Failed to exit when running )/;
const FILE_LEFT = /^ {2}✘ Exiting due to process\.exit\(\) when running /;
const FILE_ENDED_BADLY = /^ {2}✘ \S+ exited (?:with a non-zero exit code|due to )/;
/** A failure of any kind, or a test that had not ended when time was up. */
const FAILURE = /^\s*(?:[✘◌] |Uncaught exception |Unhandled rejection |Failed to exit )/;
/** ... and of its totals, below a rule. */
const RULE = "  ─";
const FAILED = /^ {2}(\d+) (?:hooks? failed|tests? failed|tests? remained pending)/;
const UNCAUGHT = /^ {2}(\d+) (?:unhandled rejections?|uncaught exceptions?)$/;

/**
 * Counts the results in ava's report, line by line. Output of the tests themselves is not part of
 * it.
 *
 * A test that passed counts as passed. A test or hook that failed or hung, an uncaught error, and a
 * file without tests or one that ended early each count as failed. A run that ended with an error
 * for any other reason counts as one failure.
 */
export function createTally(): { line(text: string): void; close(exitCode: number | null): Tally } {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  /**
   * Errors that end their file, and files that ended with an error: ava reports such a failure once
   * or twice.
   */
  let fatal = 0;
  let endedBadly = 0;
  let belowRule = false;
  const failures: string[] = [];

  function whileRunning(line: string): void {
    if (FAILURE.test(line)) failures.push(line.trim());
    if (PASSED.test(line)) passed++;
    else if (SKIPPED.test(line)) skipped++;
    else if (FILE_FAILED.test(line)) failed++;
    else if (FILE_LEFT.test(line)) fatal++;
    else if (FILE_ENDED_BADLY.test(line)) endedBadly++;
  }

  return {
    line(text) {
      const line = stripVTControlCharacters(text);
      if (line === RULE) belowRule = true;
      if (!belowRule) return whileRunning(line);
      failed += Number(FAILED.exec(line)?.[1] ?? 0);
      fatal += Number(UNCAUGHT.exec(line)?.[1] ?? 0);
    },
    close(exitCode) {
      failed += Math.max(fatal, endedBadly);
      const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
      return { passed, failed: failed + (unexplained ? 1 : 0), skipped, failures };
    },
  };
}
