import type { Client } from "@elastic/elasticsearch";
import { errors } from "@elastic/elasticsearch";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { LoggiaError } from "../../../errors.ts";
import { retryTransient } from "./scan.ts";

/** Interval of the holder's heartbeats. */
const HEARTBEAT_MS = 2000;
/** Time without a heartbeat, by the observer's clock, after which the lock may be taken over. */
const LOCK_TIMEOUT_MS = 15_000;
const HEARTBEAT_TIMEOUT_MS = 5000;
const ID = "lease";

/** `generation` rises each time the lock is taken. */
type Document = { readonly holder: string | null; readonly generation: number };
type Version = { readonly seqNo: number; readonly primaryTerm: number };
type Found = Document & Version;

/** The exclusive right of a process to rebuild. */
export type Lock = {
  readonly generation: number;
  /** Whether the previous holder was interrupted, so that its leftovers must be cleaned up. */
  readonly inherited: boolean;
  /** Fires when another process may hold the lock. */
  readonly lost: AbortSignal;
  /** Renews the lock. @throws if it is lost */
  confirm(): Promise<void>;
  /**
   * Stops the heartbeats.
   * @param cleared whether nothing is left for the next holder to clean up
   */
  end(cleared: boolean): Promise<void>;
};

/** `alive`: the holder sends heartbeats. `orphaned`: the holder was interrupted. */
type LockState = { readonly kind: "free" | "alive" | "orphaned"; readonly found: Found | null };

/** Whether the lock has a holder, alive or not. */
export async function isHeld(client: Client, index: string): Promise<boolean> {
  return ((await readLock(client, index))?.holder ?? null) !== null;
}

async function readLock(client: Client, index: string): Promise<Found | null> {
  const answer = await retryTransient(() => client.get<Document>({ index, id: ID }, { ignore: [404] }));
  const { _source: document, _seq_no: seqNo, _primary_term: primaryTerm } = answer;
  if (document === undefined || seqNo === undefined || primaryTerm === undefined) return null;
  return { ...document, seqNo, primaryTerm };
}

/** Observes the lock until its state is known, up to {@link LOCK_TIMEOUT_MS} without heartbeats. */
export async function readLockState(client: Client, index: string, signal: AbortSignal): Promise<LockState> {
  const first = await readLock(client, index);
  if (first === null || first.holder === null) return { kind: "free", found: first };
  const start_ms = performance.now();
  for (;;) {
    await sleep(HEARTBEAT_MS / 4, undefined, { signal });
    const found = await readLock(client, index);
    if (found === null || found.holder === null) return { kind: "free", found };
    if (found.seqNo !== first.seqNo || found.primaryTerm !== first.primaryTerm) return { kind: "alive", found };
    if (performance.now() - start_ms >= LOCK_TIMEOUT_MS) return { kind: "orphaned", found };
  }
}

/**
 * Takes the lock if it is free or orphaned.
 * @param options.least the new generation is greater than this
 * @throws LoggiaError `conflict` if another process holds it
 */
export async function takeLock(
  client: Client,
  index: string,
  options: { readonly least: number; readonly signal: AbortSignal },
): Promise<Lock> {
  await prepareIndex(client, index);
  const state = await readLockState(client, index, options.signal);
  const lock = state.kind === "alive" ? null : await claimLock(client, index, state, options.least);
  if (lock === null) {
    throw new LoggiaError("conflict", "Another process is rebuilding the store: wait until it has finished");
  }
  return lock;
}

/** Takes a lock without a live holder. Returns null if another process has taken it first. */
export async function claimLock(
  client: Client,
  index: string,
  { kind, found }: LockState,
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
    const alreadyExists =
      error instanceof errors.ResponseError && error.message.includes("resource_already_exists_exception");
    if (!alreadyExists) throw error;
  }
}

/** Writes the document. @returns null if its version is not `expected` */
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
    { ignore: [409], requestTimeout: HEARTBEAT_TIMEOUT_MS, maxRetries: 0 },
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
      // A heartbeat whose response was lost has changed the version too.
      const found = await readLock(client, index);
      if (found?.holder === document.holder) written = await write(client, index, next, found);
    }
    if (written === null) {
      lost.abort(new LoggiaError("store_unavailable", "The rebuild stalled and another process took over its lock"));
      lost.signal.throwIfAborted();
    }
    version = written!;
  }

  async function sendHeartbeats(): Promise<void> {
    while (!ended.signal.aborted && !lost.signal.aborted) {
      await sleep(HEARTBEAT_MS, undefined, { signal: ended.signal, ref: false }).catch(() => {});
      // Queued behind other writes. While the cluster is unavailable, no other process can take the
      // lock.
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

  const heartbeats = sendHeartbeats();
  return {
    generation: document.generation,
    inherited,
    lost: lost.signal,
    confirm: () => queue(document),
    end: async (cleared) => {
      ended.abort();
      await heartbeats;
      if (cleared && !lost.signal.aborted) await queue({ ...document, holder: null });
    },
  };
}
