import { setTimeout as sleep } from "node:timers/promises";

import type { LogKey } from "../../events/event.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import { quotaOwner } from "../../ratelimit/quota-owner.ts";
import { postTimesBy } from "../append/created.ts";
import type { RecordLine } from "../append/record-lines.ts";
import { fittedLine } from "../append/fitted-line.ts";
import { CUT_TAG } from "../kit/cut-tag.ts";
import type { ProducerEvent } from "../kit/endpoint.ts";
import { isExpired, keptFrom } from "../append/store-events.ts";
import type { ListenerContext } from "./listener.ts";
import { appendWithRetry } from "./retry.ts";
import type { ListenerTally } from "./tally.ts";

/** Limits of queued lines and bytes of one connection for one log. */
const MAX_LINES = 5_000;
const MAX_BYTES = 2 * 1024 * 1024;
/** Line limit of one append. It lets the appends of many connections share the bus. */
const APPEND_LINES = 2_000;
/**
 * Memory of a queue that is not empty, without its events. Clients that open a connection for each
 * event create many.
 */
const QUEUE_BYTES = 8 * 1024;
const PAUSE_MS = 50;
const AWAITS_OUTCOME = Object.freeze({ awaitsOutcome: true });

/**
 * Stores the events of one connection for one log, in order and with one append at a time. Failed
 * appends are retried until they succeed; meanwhile the connection's reader waits for room.
 */
export class Intake {
  readonly #context: ListenerContext;
  readonly #tally: ListenerTally;
  readonly #log: LogKey;
  readonly #tags: readonly string[];
  readonly #owner: string;
  readonly #share: BodyShare;
  #lines: RecordLine[] = [];
  /** Totals of queued lines and of those being appended. */
  #held_bytes = 0;
  #held_lines = 0;
  #running: Promise<void> | null = null;

  constructor(context: ListenerContext, tally: ListenerTally, log: LogKey, tags: readonly string[]) {
    this.#context = context;
    this.#tally = tally;
    this.#log = log;
    this.#tags = tags;
    this.#owner = quotaOwner(context.catalog, log);
    this.#share = context.memory.bodies.enter(this.#owner);
  }

  /** Queues an event; {@link flush} stores it. */
  add(event: ProducerEvent): void {
    const { limits, clock } = this.#context;
    const { line, size_bytes, cut } = fittedLine(event, {
      limits,
      tags: this.#tags,
      read_ms: postTimesBy(clock).read_ms,
    });
    const unread = Number(event.isTimeUnread === true);
    const expired = Number(isExpired(line, keptFrom(this.#log, this.#context)));
    if (unread + expired > 0) this.#context.onTimes?.({ unread, expired });
    if (cut || event.tags.includes(CUT_TAG)) this.#tally.add("cut");
    this.#lines.push(line);
    this.#held_lines += 1;
    this.#held_bytes += size_bytes;
  }

  /** Starts to store the queued events. */
  flush(): void {
    if (this.#lines.length > 0) this.#running ??= this.#run();
  }

  /** Returns whether there is room for more events. */
  hasRoom(): boolean {
    if (this.#held_lines >= MAX_LINES || this.#held_bytes >= MAX_BYTES) return false;
    return this.#share.tryHold(this.#held_bytes + QUEUE_BYTES);
  }

  /** Resolves once there is room for more events. */
  async untilRoom(): Promise<void> {
    while (!this.hasRoom()) {
      if (this.#running === null) await sleep(PAUSE_MS);
      else await Promise.race([this.#running, sleep(PAUSE_MS)]);
      if (this.#context.abandoned.aborted) return;
    }
  }

  /** Resolves once all queued events are stored. */
  async drain(): Promise<void> {
    this.flush();
    while (this.#running !== null) await this.#running;
    this.#share.release();
  }

  async #run(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.#lines.length <= APPEND_LINES ? this.#lines : this.#lines.slice(0, APPEND_LINES);
      this.#lines = lines === this.#lines ? [] : this.#lines.slice(APPEND_LINES);
      const isStored = await this.#store(lines);
      this.#tally.add(isStored ? "stored" : "dropped", lines.length);
      this.#held_lines -= lines.length;
      for (const { fields } of lines) this.#held_bytes -= Buffer.byteLength(fields);
    }
    this.#running = null;
    this.#share.tryHold(0);
  }

  /** Returns false if the service stops before the bus has stored the lines. */
  async #store(lines: readonly RecordLine[]): Promise<boolean> {
    const { coalescer, log } = this.#context;
    const stored = await appendWithRetry(() => coalescer.submitLines(this.#log, lines, undefined, AWAITS_OUTCOME), {
      context: this.#context,
      owner: this.#owner,
      what: "events of a listener",
      gaveUp: (error) =>
        log.error(
          { err: error, events: lines.length },
          "events that a listener had received were lost at shutdown: the bus did not store them",
        ),
    });
    return stored !== null;
  }
}
