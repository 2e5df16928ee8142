import { randomBytes } from "node:crypto";

import { reclassificationOf } from "../../src/operations/reclassification.ts";
import type { OrderDocuments, OrderVersion, StoredReclassification } from "../../src/operations/reclassification.ts";

type Guarded = Pick<OrderDocuments, "read" | "replace">;

/** The holder writes at least so often, and whenever it got further. */
const BEAT_MS = 3_000;
const PROGRESS_MS = 1_000;
/** A process that has seen no new version for this long, by its own clock, may take over. */
export const LEASE_MS = 15_000;
/** A holder that could not write for so long changes nothing more before it has written. */
const SURE_MS = LEASE_MS / 2;

/** Another process has it. */
export class ClaimLost extends Error {}

/**
 * The right of one process to carry out an order. Each write of the document is guarded by the
 * version before it: a holder that stalled learns that another process took over. Each write is also
 * a sign of life.
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
    this.#timer = setInterval(() => this.#beat(), PROGRESS_MS).unref();
  }

  /** @returns null where somebody else was faster */
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

  /** Notes how far it is, to be written before long. */
  note(changes: Partial<StoredReclassification>): void {
    this.#record = { ...this.#record, ...changes };
    this.#isWritten = false;
  }

  /** @throws ClaimLost; LoggiaError `store_unavailable` */
  async save(changes: Partial<StoredReclassification>): Promise<void> {
    this.note(changes);
    await this.#inTurn(() => this.#write());
  }

  /** Makes sure that nobody else may have taken over. @throws ClaimLost; LoggiaError `store_unavailable` */
  async confirm(): Promise<void> {
    if (this.#isLost) throw new ClaimLost();
    if (performance.now() - this.#written_ms > SURE_MS) await this.save({});
  }

  /**
   * Ends the order, unless it was ordered again since `asked`.
   * @returns whether it did
   */
  finish(changes: Partial<StoredReclassification>, asked: number): Promise<boolean> {
    return this.#inTurn(async () => {
      const before = this.#record;
      const isSame = (): boolean => this.#record.asked === asked;
      let isDone = false;
      try {
        if (isSame()) this.note({ ...changes, holder: null });
        isDone = isSame() && (await this.#write(isSame));
        return isDone;
      } finally {
        if (!isDone) this.#record = { ...before, asked: this.#record.asked };
      }
    });
  }

  /** Lets others go on with it at once. */
  async release(): Promise<void> {
    this.stop();
    if (!this.#isLost) await this.save({ holder: null }).catch(() => {});
  }

  /** Ends the signs of life. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const isDue = !this.#isWritten || performance.now() - this.#written_ms >= BEAT_MS;
    // Whatever fails is met again by the next write; without one, others take over.
    if (isDue && !this.#isLost) void this.save({}).catch(() => {});
  }

  /** @returns false where, another version having been found, `isWanted` says so */
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

  /** The version has changed: it was ordered again, or an own write got no answer; or it is somebody else's. */
  async #adopt(): Promise<void> {
    const document = await this.#documents.read(this.#record.log);
    const now = document === null ? null : reclassificationOf(document.body);
    if (document === null || now?.holder !== this.#holder) {
      this.#isLost = true;
      throw new ClaimLost();
    }
    this.#version = document.version;
    this.#record = { ...this.#record, asked: now.asked };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
