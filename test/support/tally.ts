import { stripVTControlCharacters } from "node:util";

/** What a run of ava came to. */
export type Tally = { readonly passed: number; readonly failed: number };

/** The last lines of ava's report: how many came to which end. Of these, the ones that are failures. */
const FAILURES =
  /^ {2}(\d+) (?:hooks? failed|tests? failed|unhandled rejections?|uncaught exceptions?|tests? remained pending)/;

/** Failures of a file that the last lines leave out. */
const FILE_FAILURES =
  /^ {2}✘ (?:No tests found in |Exiting due to process\.exit\(\)|Internal error|Couldn’t find any )/;

const PASSED = /^ {2}✔ (?!\[expected fail\] )/;

/**
 * Counts what ava reports, line by line as it comes. Ava writes a line for each test as it ends, then, below a rule, the failures in full and
 * its totals; what the tests themselves print goes another way.
 *
 * A test that passed counts as passed. A test or hook that failed or hung, an error that nobody caught, a file without tests or with a
 * call of `process.exit` each count as failed; a run that ends badly for any other reason counts as one failure.
 */
export function createTally(): { line(text: string): void; close(exitCode: number | null): Tally } {
  let passed = 0;
  let failed = 0;
  let belowRule = false;
  return {
    line(text) {
      const plain = stripVTControlCharacters(text);
      if (plain === "  ─") belowRule = true;
      if (!belowRule && PASSED.test(plain)) passed++;
      if (!belowRule && FILE_FAILURES.test(plain)) failed++;
      if (belowRule) failed += Number(FAILURES.exec(plain)?.[1] ?? 0);
    },
    close(exitCode) {
      const unexplained = failed === 0 && (exitCode !== 0 || passed === 0);
      return { passed, failed: failed + (unexplained ? 1 : 0) };
    },
  };
}
