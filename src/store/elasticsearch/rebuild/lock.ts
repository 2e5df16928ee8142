import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { patiently } from "../search/scan.ts";

/** The holder gives a sign of life so often ... */
const BEAT_MS = 2000;
/** ... and whoever has seen none for so long, by a clock of its own, may take the lock over. */
const LOCK_MS = 15_000;
const BEAT_TIMEOUT_MS = 5000;
const ID = "lease";

/** `generation` rises each time that somebody takes the lock. */
type Document = { readonly holder: string | null; readonly generation: number };
type Version = { readonly seqNo: number; readonly primaryTerm: number };
type Found = Document & Version;

/** The right to rebuild, of one process at a time. */
export type Lock = {
  readonly generation: number;
  /** Whether the one who had it before was cut off: what it left is to be cleared away. */
  readonly inherited: boolean;
  /** Fires when somebody else may have it. */
  readonly lost: AbortSignal;
  /** @throws where it is lost */
  confirm(): Promise<void>;
  /** Stops the signs of life. @param cleared whether nothing is left that the next one would have to clear away */
  end(cleared: boolean): Promise<void>;
};

/** `alive`: somebody holds it and gives signs of life. `orphaned`: somebody held it and was cut off. */
type Fate = { readonly kind: "free" | "alive" | "orphaned"; readonly found: Found | null };

/** Whether somebody has the lock, alive or not. */
export async function isHeld(client: Client, index: string): Promise<boolean> {
  return ((await look(client, index))?.holder ?? null) !== null;
}

async function look(client: Client, index: string): Promise<Found | null> {
  const answer = await patiently(() => client.get<Document>({ index, id: ID }, { ignore: [404] }));
  const { _source: document, _seq_no: seqNo, _primary_term: primaryTerm } = answer;
  if (document === undefined || seqNo === undefined || primaryTerm === undefined) return null;
  return { ...document, seqNo, primaryTerm };
}

/**
 * Looks until it is known what became of the lock: as long as {@link LOCK_MS} where its holder
 * gives no sign of life.
 */
export async function fateOf(client: Client, index: string, signal: AbortSignal): Promise<Fate> {
  const first = await look(client, index);
  if (first === null || first.holder === null) return { kind: "free", found: first };
  const start_ms = performance.now();
  for (;;) {
    await sleep(BEAT_MS / 4, undefined, { signal });
    const found = await look(client, index);
    if (found === null || found.holder === null) return { kind: "free", found };
    if (found.seqNo !== first.seqNo || found.primaryTerm !== first.primaryTerm) return { kind: "alive", found };
    if (performance.now() - start_ms >= LOCK_MS) return { kind: "orphaned", found };
  }
}

/**
 * Takes the lock where it is free, or where its holder was cut off.
 * @param options.least the generation will be a later one
 * @throws LoggiaError `conflict` where somebody has it
 */
export async function takeLock(
  client: Client,
  index: string,
  options: { readonly least: number; readonly signal: AbortSignal },
): Promise<Lock> {
  await prepareIndex(client, index);
  const fate = await fateOf(client, index, options.signal);
  const lock = fate.kind === "alive" ? null : await claimLock(client, index, fate, options.least);
  if (lock === null) {
    throw new LoggiaError("conflict", "Another process is rebuilding the store: wait for its end");
  }
  return lock;
}

/** Takes a lock that nobody has, alive; null where somebody else was faster. */
export async function claimLock(
  client: Client,
  index: string,
  { kind, found }: Fate,
  least: number,
): Promise<Lock | null> {
  const holder = randomBytes(12).toString("base64url");
  const document = { holder, generation: Math.max(found?.generation ?? 0, least) + 1 };
  const version = await write(client, index, document, found);
  return version && hold({ client, index, document, inherited: kind === "orphaned" }, version);
}

async function prepareIndex(client: Client, index: string): Promise<void> {
  try {
    await client.indices.create({
      index,
      settings: { number_of_shards: 1, auto_expand_replicas: "0-1" },
      mappings: { dynamic: false },
    });
  } catch (error) {
    const isThere =
      error instanceof errors.ResponseError && error.message.includes("resource_already_exists_exception");
    if (!isThere) throw error;
  }
}

/** @returns null where the document has another version than `expected` */
async function write(
  client: Client,
  index: string,
  document: Document,
  expected: Version | null,
): Promise<Version | null> {
  const guard =
    expected === null
      ? { op_type: "create" as const }
      : { if_seq_no: expected.seqNo, if_primary_term: expected.primaryTerm };
  const answer = await client.index(
    { index, id: ID, document, ...guard },
    { ignore: [409], requestTimeout: BEAT_TIMEOUT_MS, maxRetries: 0 },
  );
  const { _seq_no: seqNo, _primary_term: primaryTerm } = answer;
  return seqNo === undefined || primaryTerm === undefined ? null : { seqNo, primaryTerm };
}

type Held = {
  readonly client: Client;
  readonly index: string;
  readonly document: Document;
  readonly inherited: boolean;
};

function hold({ client, index, document, inherited }: Held, first: Version): Lock {
  const lost = new AbortController();
  const ended = new AbortController();
  let version = first;
  let last: Promise<void> = Promise.resolve();

  async function renew(next: Document): Promise<void> {
    lost.signal.throwIfAborted();
    let written = await write(client, index, next, version);
    if (written === null) {
      // A sign of life whose answer was lost has moved the version too.
      const found = await look(client, index);
      if (found?.holder === document.holder) written = await write(client, index, next, found);
    }
    if (written === null) {
      lost.abort(new LoggiaError("store_unavailable", "The rebuilding stalled, and another process ended it"));
      lost.signal.throwIfAborted();
    }
    version = written!;
  }

  async function beat(): Promise<void> {
    while (!ended.signal.aborted && !lost.signal.aborted) {
      await sleep(BEAT_MS, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      // One at a time with the others. A cluster that is away lets nobody else have the lock either.
      if (!ended.signal.aborted) await queue(document).catch(() => {});
    }
  }

  function queue(next: Document): Promise<void> {
    const before = last;
    const run = async (): Promise<void> => {
      await before.catch(() => {});
      await renew(next);
    };
    last = run();
    return last;
  }

  const beating = beat();
  return {
    generation: document.generation,
    inherited,
    lost: lost.signal,
    confirm: () => queue(document),
    end: async (cleared) => {
      ended.abort();
      await beating;
      if (cleared && !lost.signal.aborted) await queue({ ...document, holder: null });
    },
  };
}
