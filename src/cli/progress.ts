import { printableLines } from "./terminal.ts";

/**
 * Counts of a run. `kept`: lines without an answer, which the next run sends. `unread`: files that
 * could not be read completely. `isUnmatched`: no line matched the pattern.
 */
export type ShipCounts = {
  posted: number;
  failed: number;
  kept: number;
  retried: number;
  unread: number;
  isUnmatched: boolean;
};

export type Progress = {
  /** Writes a line above the line of counts. */
  readonly note: (text: string) => void;
  close(): void;
};

const TERMINAL_MS = 200;
const REPORT_MS = 10_000;

/** Shows the counts: on a terminal in one line that is updated, else a line every ten seconds. */
export function showProgress(counts: ShipCounts, stderr: NodeJS.WriteStream): Progress {
  const started_ms = performance.now();
  const line = (): string => {
    const perSecond = counts.posted / Math.max((performance.now() - started_ms) / 1000, 0.001);
    return `posted ${counts.posted}, failed ${counts.failed}, retried ${counts.retried}, ${perSecond.toFixed(0)}/s`;
  };
  const erase = stderr.isTTY ? "\r\u001b[K" : "";
  const timer = stderr.isTTY
    ? setInterval(() => stderr.write(`${erase}${line()}`), TERMINAL_MS)
    : setInterval(() => stderr.write(`loggia: ${line()}\n`), REPORT_MS);
  return {
    note: (text) => stderr.write(`${erase}${printableLines(text)}\n`),
    close: () => {
      clearInterval(timer);
      if (erase !== "") stderr.write(erase);
    },
  };
}
