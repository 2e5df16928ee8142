import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { LoggiaError, StartError } from "../../errors.ts";
import type { BusRecord, NewRecord } from "../bus.ts";
import { isCorruption } from "./errors.ts";
import type { BusFile, Commit } from "./file.ts";
import type { BusFileAnswer, BusFileCall, BusThreadData, BusFileRequest } from "./thread.ts";

type PendingCall = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

/**
 * Client of {@link BusFile}, which runs on a thread of its own. Each call returns a promise. Calls
 * run in the order in which they are made.
 */
export class BusFileClient implements AsyncDisposable {
  readonly #thread: Worker;
  /**
   * Pending calls by id. Ids are reused, since few calls are pending at a time. An array rather
   * than a Map: a Map that grows and shrinks leaves tables in the old generation.
   */
  readonly #pending: (PendingCall | null)[] = [];
  /** The first message of SQLite about damage to the file. */
  #damage: string | null = null;
  /** The error of every call after the thread has ended. */
  #closedError: LoggiaError | null = null;

  private constructor(thread: Worker) {
    this.#thread = thread;
    thread.on("message", (answer: BusFileAnswer) => this.#settle(answer));
    thread.on("error", (cause: Error) => this.#fail("The thread of the bus has failed", cause));
    thread.on("exit", () => this.#fail("The bus is closed"));
  }

  /** @throws StartError as {@link openBusFile} does */
  static async open(workerData: BusThreadData): Promise<BusFileClient> {
    const thread = new Worker(new URL("./thread.ts", import.meta.url), { workerData, name: "bus" });
    const exited = once(thread, "exit").then(() => [{ kind: "opened", why: "The bus could not be opened" }]);
    const [answer] = (await Promise.race([once(thread, "message"), exited])) as [BusFileAnswer];
    if (answer.kind === "opened" && answer.why === null) return new BusFileClient(thread);
    await thread.terminate();
    throw new StartError((answer.kind === "opened" && answer.why) || "The bus could not be opened");
  }

  /**
   * @throws Error of the file, with SQLite's `errcode`; LoggiaError `bus_unavailable` after the
   * thread has ended
   */
  call<Call extends Exclude<BusFileCall, "commit" | "read" | "last">>(
    call: Call,
    ...args: Parameters<BusFile[Call]>
  ): Promise<Awaited<ReturnType<BusFile[Call]>>> {
    return this.#request(call, args) as Promise<Awaited<ReturnType<BusFile[Call]>>>;
  }

  /** The first message of SQLite about damage to the file; null if there was none. */
  get damage(): string | null {
    return this.#damage;
  }

  async read(...args: Parameters<BusFile["read"]>): Promise<BusRecord[]> {
    const records = (await this.#request("read", args)) as ReceivedRecord[];
    for (const record of records) toBuffer(record);
    return records;
  }

  async last(...args: Parameters<BusFile["last"]>): Promise<BusRecord | null> {
    const record = (await this.#request("last", args)) as ReceivedRecord | null;
    if (record !== null) toBuffer(record);
    return record;
  }

  async commit({ appends, acks }: Commit, now_ms: number): Promise<void> {
    const values: ArrayBuffer[] = [];
    // Copied, because a small Buffer is a view of a pool that other buffers share.
    const copy = ({ key, value }: NewRecord) => {
      const own = new Uint8Array(value);
      values.push(own.buffer);
      return { key, value: own };
    };
    const own = appends.map(({ topic, records }) => ({ topic, records: records.map(copy) }));
    await this.#request("commit", [{ appends: own, acks }, now_ms], values);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closedError !== null) return;
    const exited = once(this.#thread, "exit");
    await this.#request("close", []);
    await exited;
  }

  #request(
    call: BusFileRequest["call"],
    args: readonly unknown[],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#closedError !== null) return reject(this.#closedError);
      const free = this.#pending.indexOf(null);
      const id = free === -1 ? this.#pending.length : free;
      this.#pending[id] = { resolve, reject };
      const request: BusFileRequest = { id, call, args };
      this.#thread.postMessage(request, transfer);
    });
  }

  #settle(answer: BusFileAnswer): void {
    if (answer.kind === "opened") return;
    const waiting = this.#pending[answer.id];
    this.#pending[answer.id] = null;
    if (answer.kind === "done") waiting?.resolve(answer.value);
    else {
      const error = Object.assign(new Error(answer.message), { errcode: answer.errcode });
      if (isCorruption(error)) this.#damage ??= answer.message;
      waiting?.reject(error);
    }
  }

  #fail(message: string, cause?: Error): void {
    this.#closedError ??= new LoggiaError("bus_unavailable", message, { cause });
    for (const waiting of this.#pending.splice(0)) waiting?.reject(this.#closedError);
  }
}

/** A record from the other thread. Its value is a `Uint8Array` that nothing else references. */
type ReceivedRecord = { -readonly [Field in keyof BusRecord]: BusRecord[Field] };

function toBuffer(record: ReceivedRecord): void {
  const { buffer, byteOffset, byteLength } = record.value;
  record.value = Buffer.from(buffer, byteOffset, byteLength);
}
