/** Severities of events. An event whose producer names one has it as a tag. */
export type Severity = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

const WORDS: ReadonlyMap<string, Severity> = new Map(
  Object.entries({
    fatal: "fatal fatal2 fatal3 fatal4 emerg emergency panic alert crit critical dpanic severe-fatal f",
    error: "error error2 error3 error4 err eror severe failure e",
    warn: "warn warn2 warn3 warn4 warning w",
    info: "info info2 info3 info4 information informational notice ok success log config i n",
    debug: "debug debug2 debug3 debug4 fine dbg d",
    trace: "trace trace2 trace3 trace4 verbose finer finest silly t v",
  } satisfies Record<Severity, string>).flatMap(([severity, words]) =>
    words.split(" ").map((word): [string, Severity] => [word, severity as Severity]),
  ),
);

/** Severities of syslog's numbers, 0 to 7. */
const SYSLOG: readonly Severity[] = ["fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"];
/** Severities of the levels of pino and bunyan, in tens from 10. */
const PINO: readonly Severity[] = ["trace", "debug", "info", "warn", "error", "fatal"];
const LONGEST_WORD = 20;

/** Returns the severity of a producer's word or number; null if it has none. */
export function parseSeverity(value: unknown): Severity | null {
  if (typeof value === "number") return severityOfNumber(value);
  if (typeof value !== "string" || value.length > LONGEST_WORD) return null;
  const word = value.trim().toLowerCase();
  if (/^\d{1,2}$/.test(word)) return severityOfNumber(Number(word));
  return WORDS.get(word) ?? null;
}

/** Returns the severity of OpenTelemetry's numbers, four for each; null for 0 and unknown ones. */
export function severityOfOtel(number: number): Severity | null {
  if (!(number >= 1 && number <= 24)) return null;
  return PINO[Math.floor((number - 1) / 4)] ?? null;
}

/** Returns the severity of syslog's numbers. */
export function severityOfSyslog(number: number): Severity | null {
  return SYSLOG[number] ?? null;
}

function severityOfNumber(number: number): Severity | null {
  if (number >= 0 && number <= 7) return severityOfSyslog(number);
  return number >= 10 && number < 70 ? (PINO[Math.floor(number / 10) - 1] ?? null) : null;
}
