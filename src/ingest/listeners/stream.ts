import type { Steps } from "../kit/steps.ts";
import type { BodyShare } from "../../http/body-budget.ts";
import { memoryNetwork } from "../../ratelimit/address.ts";
import type { ProducerEvent } from "../kit/endpoint.ts";
import { runSteps } from "../kit/steps.ts";
import { Frames } from "./frames.ts";
import type { Frame, FrameOptions } from "./frames.ts";
import type { ListenerContext } from "./listener.ts";
import { Sink } from "./sink.ts";
import type { TcpConnection, Stream } from "./tcp.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

/** An event with the API key that was sent along. */
export type KeyedEvent = { readonly event: ProducerEvent; readonly secret: string | null };

/** Decodes a frame; null if it is empty. Malformed frames become the text of an event. */
export type ReadFrame = (frame: Frame) => Steps<KeyedEvent | null>;

/** Stores each frame of a connection as an event. */
export class FrameStream implements Stream {
  readonly #frames: Frames;
  readonly #read: ReadFrame;
  readonly #sink: Sink;
  readonly #connection: TcpConnection;
  readonly #abandoned: AbortSignal;
  readonly #scheduler: Scheduler;
  /** Memory of the incomplete frame. The client may have no key, so it counts for its network. */
  readonly #share: BodyShare;

  constructor(options: FrameOptions, read: ReadFrame, connection: TcpConnection, context: ListenerContext) {
    const { tally, route, peer } = connection;
    this.#frames = new Frames(options);
    this.#read = read;
    this.#sink = new Sink(context, tally, route, peer);
    this.#connection = connection;
    this.#abandoned = context.abandoned;
    this.#scheduler = context.scheduler;
    this.#share = context.memory.unfinished.enter(memoryNetwork(peer.address));
  }

  get frames(): number {
    return this.#frames.count;
  }

  get hasPartialFrame(): boolean {
    return this.#frames.hasPartialFrame;
  }

  async take(bytes: Buffer): Promise<void> {
    const { socket } = this.#connection;
    if (this.#frames.held_bytes > 0) {
      this.#share.onEvicted = () => socket.destroy();
      await this.#hold(this.#frames.heldWith(bytes.length));
    }
    // A frame that is being decoded stays in memory, whether others need it or not.
    this.#share.onEvicted = null;
    await this.#put(this.#frames.push(bytes));
    await this.#hold(this.#frames.held_bytes);
    this.#share.onEvicted = () => {
      this.#frames.drop();
      closeEvicted(this.#connection);
    };
    await this.#sink.untilRoom();
  }

  async end(): Promise<void> {
    await this.#put(this.#frames.end());
    await this.#sink.untilRoom();
  }

  async drain(): Promise<void> {
    await this.#sink.drain();
    this.#share.release();
  }

  /** Waits for the memory of an incomplete frame. Without it, the frame is dropped. */
  async #hold(size_bytes: number): Promise<void> {
    try {
      await this.#share.hold(size_bytes, this.#abandoned);
    } catch (error) {
      this.#frames.drop();
      throw error;
    }
  }

  async #put(frames: Iterable<Frame>): Promise<void> {
    const yielder = this.#scheduler.beginDecoding();
    for (const frame of frames) {
      const steps = this.#read(frame);
      const { done, value } = steps.next();
      const read = done === true ? value : await runSteps(steps, yielder);
      const waits = read === null ? undefined : this.#sink.put(read.event, read.secret);
      if (waits !== undefined) await waits;
      if (!yielder.isDue) continue;
      this.#sink.flush();
      await yielder.turn();
    }
    this.#sink.flush();
  }
}

/** Closes a connection whose incomplete frame has lost its memory to others. */
export function closeEvicted({ socket, tally }: TcpConnection): void {
  tally.add("refused");
  socket.destroy();
}
