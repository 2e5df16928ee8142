import assert from "node:assert/strict";
import { send } from "./http.ts";
import type { Ledger } from "./ledger.ts";

/** An event as the API shows it. */
export type Row = {
  readonly id: string;
  readonly text: string;
  readonly link: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly user: string;
  readonly value: number | null;
  readonly data: boolean;
  readonly log: string;
  readonly class: string | null;
};

/** A user who reads through the API. */
export type Reader = { readonly url: string; readonly authorization: string };

/** Prefix of texts posted outside the ledger to check whether the service works. */
export const PROBE = "probe ";
const FIRST_ID = "0".repeat(24);
const PAGE_SIZE = 500;
const DATA_SAMPLES = 25;

/**
 * Returns a page of a list.
 * @throws Error if the response is not 200
 */
export async function page(reader: Reader, path: string): Promise<{ rows: Row[]; total: number }> {
  const { status, headers, text } = await send({
    url: reader.url + path,
    headers: { Authorization: reader.authorization },
    timeout_ms: 60_000,
  });
  if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${text.slice(0, 300)}`);
  return { rows: JSON.parse(text) as Row[], total: Number(headers["x-total-count"]) };
}

/** Returns every row of a list, in the order of ids, and the total that the list reports. */
export async function readAll(reader: Reader, path: string): Promise<{ rows: Row[]; total: number }> {
  const rows: Row[] = [];
  let total = 0;
  let last = FIRST_ID;
  for (;;) {
    const answer = await page(reader, `${path}?pagesize=${PAGE_SIZE}&sinceid=${last}&total=exact`);
    if (last === FIRST_ID) ({ total } = answer);
    rows.push(...answer.rows);
    if (answer.rows.length < PAGE_SIZE) return { rows, total };
    last = answer.rows.at(-1)!.id;
  }
}

/** Differences between stored and posted events. All but the first three must be 0. */
export type Verdict = {
  /** Posts answered 201, each of which must be stored. */
  obligations: number;
  /** Posts answered 5xx or not at all, each of which may be stored. */
  open: number;
  stored: number;
  missing: number;
  /** Stored, but never posted, or their post was refused. */
  invented: number;
  double: number;
  /** Stored with other contents than posted, or under another id than in the response. */
  different: number;
  alertsMissing: number;
  alertsInvented: number;
  alertsDouble: number;
};

export type Question = {
  readonly ledger: Ledger;
  /** Users who want alerts of the class `alarm`; the first one reads the events. */
  readonly readers: readonly [Reader, ...Reader[]];
  readonly logs: readonly string[];
};

/** Compares everything stored, read through the API, with the ledger. */
export async function judge({ ledger, readers, logs }: Question): Promise<Verdict> {
  const verdict: Verdict = {
    obligations: ledger.accepted,
    open: ledger.open,
    stored: 0,
    missing: 0,
    invented: 0,
    double: 0,
    different: 0,
    alertsMissing: 0,
    alertsInvented: 0,
    alertsDouble: 0,
  };
  const seen = new Map<number, string>();
  for (const [i, log] of logs.entries()) {
    const { rows, total } = await readAll(readers[0], `/1/logs/${log}/events`);
    // Two rows with one id across a page boundary would be listed once and counted twice.
    verdict.double += Math.max(0, total - rows.length);
    for (const row of rows) judgeRow(row, i, { ledger, logs, seen, verdict });
  }
  verdict.stored = seen.size;
  for (let n = 0; n < ledger.issued; n++) {
    if (ledger.outcome(n)?.kind === "accepted" && !seen.has(n)) verdict.missing += 1;
  }
  verdict.different += await countChangedData(readers[0], { ledger, logs, seen, verdict });
  for (const reader of readers) await judgeAlerts(reader, { ledger, logs, seen, verdict });
  return verdict;
}

type Books = {
  readonly ledger: Ledger;
  readonly logs: readonly string[];
  readonly seen: Map<number, string>;
  readonly verdict: Verdict;
};

function judgeRow(row: Row, logIndex: number, { ledger, logs, seen, verdict }: Books): void {
  if (row.text.startsWith(PROBE)) return;
  const n = ledger.numberOf(row.text);
  const outcome = n === null ? null : ledger.outcome(n);
  if (n === null || outcome?.kind === "refused" || n % logs.length !== logIndex) {
    verdict.invented += 1;
  } else if (seen.has(n)) {
    verdict.double += 1;
  } else {
    seen.set(n, row.id);
    const idDiffers = outcome?.kind === "accepted" && outcome.id !== row.id;
    if (idDiffers || !isAsPosted(row, n, ledger)) verdict.different += 1;
  }
}

function isAsPosted(row: Row, n: number, ledger: Ledger): boolean {
  const { text, link, tags, source, user, value, data } = ledger.contentOf(n);
  const posted = [text, link, tags.join(" "), source, user, value, data !== null, ledger.isAlarm(n) ? "alarm" : null];
  const stored = [row.text, row.link, row.tags.join(" "), row.source, row.user, row.value, row.data, row.class];
  return posted.every((field, i) => field === stored[i]);
}

/**
 * Lists only show whether an event has data, so this reads the data of some of those that have it.
 */
async function countChangedData(reader: Reader, { ledger, logs, seen }: Books): Promise<number> {
  const carriers = [...seen].filter(([n]) => ledger.contentOf(n).data !== null);
  const step = Math.max(1, Math.floor(carriers.length / DATA_SAMPLES));
  let changed = 0;
  for (const [n, id] of carriers.filter((_, i) => i % step === 0)) {
    const path = `/1/logs/${logs[n % logs.length]}/events/${id}/data`;
    const { text } = await send({ url: reader.url + path, headers: { Authorization: reader.authorization } });
    if (text !== JSON.stringify(ledger.contentOf(n).data)) changed += 1;
  }
  return changed;
}

/** Checks that each stored event of the class has exactly one alert. */
async function judgeAlerts(reader: Reader, { ledger, logs, seen, verdict }: Books): Promise<void> {
  const alerted = new Set<number>();
  for (const log of logs) {
    const { rows, total } = await readAll(reader, `/1/logs/${log}/alerts`);
    verdict.alertsDouble += Math.max(0, total - rows.length);
    for (const row of rows) {
      if (row.text.startsWith(PROBE)) continue;
      const n = ledger.numberOf(row.text);
      if (n === null || !ledger.isAlarm(n) || seen.get(n) !== row.id) verdict.alertsInvented += 1;
      else if (alerted.has(n)) verdict.alertsDouble += 1;
      else alerted.add(n);
    }
  }
  for (const n of seen.keys()) if (ledger.isAlarm(n) && !alerted.has(n)) verdict.alertsMissing += 1;
}

/** Returns whether waiting may still help, because something has not arrived. */
export function isBehind({ missing, alertsMissing, alertsInvented }: Verdict): boolean {
  // An alert is stored before its event.
  return missing + alertsMissing + alertsInvented > 0;
}

/**
 * @throws AssertionError with the whole verdict if anything was lost, invented, duplicated or
 * changed
 */
export function assertKept(verdict: Verdict): void {
  const { missing, invented, double, different, alertsMissing, alertsInvented, alertsDouble } = verdict;
  const faults = missing + invented + double + different + alertsMissing + alertsInvented + alertsDouble;
  assert.equal(faults, 0, `what is stored is not what was posted: ${JSON.stringify(verdict)}`);
}
