import { noteRequest } from "../../scheduling/cooperative.ts";
import { DECODING, Yielder } from "../../scheduling/yielding.ts";
import type { Steps } from "../protocols/json-scanner.ts";
import type { ProducerEvent } from "../protocols/protocol.ts";
import { runSteps } from "../protocols/steps.ts";
import { Frames } from "./frames.ts";
import type { Frame, FrameOptions } from "./frames.ts";
import type { Sink } from "./sink.ts";
import type { Stream } from "./tcp.ts";

/** An event with the API key that was sent along. */
export type KeyedEvent = { readonly event: ProducerEvent; readonly secret: string | null };

/** Decodes a frame; null if it is empty. Malformed frames become the text of an event. */
export type ReadFrame = (frame: Frame) => Steps<KeyedEvent | null>;

/** Stores each frame of a connection as an event. */
export class FrameStream implements Stream {
  readonly #frames: Frames;
  readonly #read: ReadFrame;
  readonly #sink: Sink;

  constructor(options: FrameOptions, read: ReadFrame, sink: Sink) {
    this.#frames = new Frames(options);
    this.#read = read;
    this.#sink = sink;
  }

  get frames(): number {
    return this.#frames.count;
  }

  get hasPartialFrame(): boolean {
    return this.#frames.hasPartialFrame;
  }

  async take(bytes: Buffer): Promise<void> {
    await this.#put(this.#frames.push(bytes));
    await this.#sink.untilRoom();
  }

  async end(): Promise<void> {
    await this.#put(this.#frames.end());
    await this.#sink.untilRoom();
  }

  async drain(): Promise<void> {
    await this.#sink.drain();
  }

  async #put(frames: Iterable<Frame>): Promise<void> {
    const yielder = new Yielder(noteRequest, DECODING);
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
