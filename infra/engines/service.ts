import { printable } from "../../src/cli/terminal.ts";

/** Default timeout of requests to a service on this machine, in milliseconds. */
const TIMEOUT_MS = 5_000;

/**
 * Describes a running service in lines: its readiness, the lag of the pipeline, the number of dead
 * letters, and the size of the embedded bus. Returns none if no service answers.
 *
 * @param addresses addresses to try; the first that answers is used
 * @param timeout_ms timeout of each request
 */
export async function describeService(addresses: readonly URL[], timeout_ms: number = TIMEOUT_MS): Promise<string[]> {
  for (const address of addresses) {
    const lines = await describeAt(address.href.replace(/\/$/, ""), timeout_ms);
    if (lines !== null) return lines;
  }
  return [];
}

async function describeAt(url: string, timeout_ms: number): Promise<string[] | null> {
  const ready = await ask(`${url}/health/ready`, timeout_ms);
  const readiness = ready === null ? null : readReadiness(ready.text);
  if (readiness === null) return null;
  const metrics = await ask(`${url}/metrics`, timeout_ms);
  return [
    `Loggia         ${url} is ${readiness}`,
    ...(metrics?.status === 200
      ? describeMetrics(metrics.text)
      : ["               serves no metrics here; they are at the address of LOGGIA_OPS"]),
  ];
}

async function ask(url: string, timeout_ms: number): Promise<{ status: number; text: string } | null> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeout_ms) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return null;
  }
}

type Readiness = { status?: unknown; dependencies?: Record<string, { ok?: unknown; why?: unknown }> };

/** Returns the readiness; null if the response is not from a Loggia service. */
function readReadiness(text: string): string | null {
  try {
    const { status, dependencies } = JSON.parse(text) as Readiness;
    if (typeof status !== "string" || typeof dependencies !== "object") return null;
    const faults = Object.entries(dependencies).filter(([, { ok }]) => ok !== true);
    return printable([status, ...faults.map(([name, { why }]) => `${name}: ${String(why)}`)].join("; "));
  } catch {
    return null;
  }
}

function describeMetrics(text: string): string[] {
  const read = (name: string): string => new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1] ?? "unknown";
  const seconds = Number(read("loggia_pipeline_lag_seconds"));
  const age = Number.isNaN(seconds) ? "unknown" : seconds.toFixed(1);
  return [
    `lag            ${printable(read("loggia_pipeline_lag_events"))} events, ${age} s`,
    `dead letters   ${printable(read("loggia_dead_letters_open"))} open`,
    ...describeBus(Number(read("loggia_bus_used_bytes")), Number(read("loggia_bus_oldest_timestamp_seconds"))),
    ...["replay", "backup"]
      .filter((job) => read(`loggia_${job}_running`) === "1")
      .map((job) => `${job.padEnd(15)}running`),
  ];
}

/** Describes the size of the embedded bus and how far back it reaches. None on a cluster. */
function describeBus(used_bytes: number, oldest_s: number): string[] {
  if (!Number.isFinite(used_bytes)) return [];
  const oldest = new Date(oldest_s * 1000);
  const reach = Number.isNaN(oldest.getTime()) ? "" : `, from ${oldest.toISOString().slice(0, 19)}Z on`;
  return [`bus            ${(used_bytes / 2 ** 20).toFixed(1)} MB of records${reach}`];
}
