/** Severities of events. An event whose producer names one has it as a tag. */
export type Severity = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

const WORDS: ReadonlyMap<string, Severity> = new Map(
  Object.entries({
    fatal: "fatal fatal2 fatal3 fatal4 emerg emergency panic alert crit critical dpanic severe-fatal f",
    error: "error error2 error3 error4 err eror severe failure e",
    warn: "warn warn2 warn3 warn4 warning w",
    info: "info info2 info3 info4 information informational notice ok success log config i n",
    debug: "debug debug1 debug2 debug3 debug4 debug5 fine dbg d d1 d2 d3 d4 d5",
    trace: "trace trace2 trace3 trace4 verbose finer finest silly t v",
  } satisfies Record<Severity, string>).flatMap(([severity, words]) =>
    words.split(" ").map((word): [string, Severity] => [word, severity as Severity]),
  ),
);

/** Severities of syslog's numbers, 0 to 7. */
const SYSLOG: readonly Severity[] = ["fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"];
/** Severities of Nextcloud's numbers, 0 to 4. */
const NEXTCLOUD: readonly Severity[] = ["debug", "info", "warn", "error", "fatal"];
/** Severities of the levels of pino and bunyan, in tens from 10. */
const PINO: readonly Severity[] = ["trace", "debug", "info", "warn", "error", "fatal"];
const LONGEST_WORD = 64;
/** Matches the colours that loggers add for terminals. */
const COLOURS = /\u001b\[[\d;]*m/g;

/**
 * Returns the severity of a producer's word, or of a number on the scale of pino and bunyan; null
 * if it has none. Smaller numbers have different meanings to different producers.
 */
export function parseSeverity(value: unknown): Severity | null {
  if (typeof value === "number") return severityOfPino(value);
  if (typeof value !== "string" || value.length > LONGEST_WORD) return null;
  const word = (value.includes("\u001b") ? value.replaceAll(COLOURS, "") : value).trim().toLowerCase();
  return WORDS.get(word) ?? (/^\d\d$/.test(word) ? severityOfPino(Number(word)) : null);
}

/** Returns the severity of OpenTelemetry's numbers, four for each; null for 0 and unknown ones. */
export function severityOfOtel(number: number): Severity | null {
  if (!(number >= 1 && number <= 24)) return null;
  return PINO[Math.floor((number - 1) / 4)] ?? null;
}

/** Returns the severity of syslog's numbers, which may be texts. */
export function severityOfSyslog(value: unknown): Severity | null {
  return SYSLOG[digitOf(value)] ?? null;
}

/** Returns the severity of Nextcloud's numbers, which may be texts. */
export function severityOfNextcloud(value: unknown): Severity | null {
  return NEXTCLOUD[digitOf(value)] ?? null;
}

/** Returns a number from 0 to 9; -1 for other values. */
function digitOf(value: unknown): number {
  return /^\d$/.test(String(value).trim()) ? Number(value) : -1;
}

function severityOfPino(number: number): Severity | null {
  return number >= 10 && number < 70 ? (PINO[Math.floor(number / 10) - 1] ?? null) : null;
}
