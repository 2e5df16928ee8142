import { randomBytes } from "node:crypto";

import { storedReclassification } from "../../src/operations/reclassification.ts";
import type { OrderDocuments, OrderVersion, StoredReclassification } from "../../src/operations/reclassification.ts";

type Guarded = Pick<OrderDocuments, "read" | "replace">;

/** Longest time between writes of the holder, and until its progress is written. */
const HEARTBEAT_MS = 3_000;
const PROGRESS_MS = 1_000;
/** A process that has seen no new version for this long, by its own clock, may take over. */
export const CLAIM_TIMEOUT_MS = 15_000;
/** A holder without a successful write for this long must write before it changes anything. */
const CONFIRM_AFTER_MS = CLAIM_TIMEOUT_MS / 2;

/** Thrown when another process holds the order. */
export class ClaimLost extends Error {}

/**
 * The exclusive right of a process to carry out an order. Each write of the document is guarded by
 * the version before it, so that a holder that stalled detects a take-over. Each write also serves
 * as a heartbeat.
 */
export class Claim {
  readonly #documents: Guarded;
  readonly #holder: string;
  #record: StoredReclassification;
  #version: OrderVersion;
  #written_ms = performance.now();
  #isWritten = true;
  #last: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout;
  #isLost = false;

  private constructor(documents: Guarded, record: StoredReclassification, version: OrderVersion, holder: string) {
    this.#documents = documents;
    this.#record = record;
    this.#version = version;
    this.#holder = holder;
    this.#timer = setInterval(() => this.#heartbeat(), PROGRESS_MS).unref();
  }

  /** Takes an order. @returns null if another process has taken it first */
  static async take(
    documents: Guarded,
    found: { readonly record: StoredReclassification; readonly version: OrderVersion },
  ): Promise<Claim | null> {
    const holder = randomBytes(12).toString("base64url");
    const record: StoredReclassification = { ...found.record, state: "running", holder };
    const written = await documents.replace(record.log, record, found.version);
    return written.kind === "done" ? new Claim(documents, record, written.version, holder) : null;
  }

  get record(): StoredReclassification {
    return this.#record;
  }

  /** Records progress, which is written shortly afterwards. */
  update(changes: Partial<StoredReclassification>): void {
    this.#record = { ...this.#record, ...changes };
    this.#isWritten = false;
  }

  /** Writes changes at once. @throws ClaimLost; LoggiaError `store_unavailable` */
  async save(changes: Partial<StoredReclassification>): Promise<void> {
    this.update(changes);
    await this.#serialize(() => this.#write());
  }

  /**
   * Ensures that no other process may have taken over.
   * @throws ClaimLost; LoggiaError `store_unavailable`
   */
  async confirm(): Promise<void> {
    if (this.#isLost) throw new ClaimLost();
    if (performance.now() - this.#written_ms > CONFIRM_AFTER_MS) await this.save({});
  }

  /**
   * Ends the order, unless it was ordered again since `asked`.
   * @returns whether it did
   */
  finish(changes: Partial<StoredReclassification>, asked: number): Promise<boolean> {
    return this.#serialize(async () => {
      const before = this.#record;
      const isSame = (): boolean => this.#record.asked === asked;
      let isDone = false;
      try {
        if (isSame()) this.update({ ...changes, holder: null });
        isDone = isSame() && (await this.#write(isSame));
        return isDone;
      } finally {
        if (!isDone) this.#record = { ...before, asked: this.#record.asked };
      }
    });
  }

  /** Releases the order, so that another process can continue it at once. */
  async release(): Promise<void> {
    this.stop();
    if (!this.#isLost) await this.save({ holder: null }).catch(() => {});
  }

  /** Stops the heartbeats. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #heartbeat(): void {
    const isDue = !this.#isWritten || performance.now() - this.#written_ms >= HEARTBEAT_MS;
    // Errors recur at the next write; without successful writes, another process takes over.
    if (isDue && !this.#isLost) void this.save({}).catch(() => {});
  }

  /** Writes the record. @returns false if the version had changed and `isWanted` returned false */
  async #write(isWanted: () => boolean = () => true): Promise<boolean> {
    if (this.#isLost) throw new ClaimLost();
    for (;;) {
      const record = this.#record;
      const start_ms = performance.now();
      const written = await this.#documents.replace(record.log, record, this.#version);
      if (written.kind === "done") {
        this.#version = written.version;
        this.#written_ms = start_ms;
        this.#isWritten = this.#record === record;
        return true;
      }
      await this.#adopt();
      if (!isWanted()) return false;
    }
  }

  /**
   * Adopts a changed version: the order was repeated, or a write of this holder got no response.
   * @throws ClaimLost if another process holds the order
   */
  async #adopt(): Promise<void> {
    const document = await this.#documents.read(this.#record.log);
    const now = document === null ? null : storedReclassification(document.body);
    if (document === null || now?.holder !== this.#holder) {
      this.#isLost = true;
      throw new ClaimLost();
    }
    this.#version = document.version;
    this.#record = { ...this.#record, asked: now.asked };
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
