import { encode } from "@msgpack/msgpack";

import { ClientGone, errorStatus, LoggiaError } from "../../../errors.ts";
import { BodyBuffer } from "../../../http/body-buffer.ts";
import type { BodyShare } from "../../../http/body-budget.ts";
import { memoryNetwork } from "../../../ratelimit/address.ts";
import { maxEvents } from "../../kit/amplification.ts";
import { quotaOwner } from "../../../ratelimit/quota-owner.ts";
import type { SocketSettings } from "../../../settings/listeners.ts";
import type { ListenerContext, Listening } from "../../listeners/listener.ts";
import type { SocketProtocol } from "../../listeners/socket-protocol.ts";
import { appendWithRetry } from "../../listeners/retry.ts";
import { Sink } from "../../listeners/sink.ts";
import { closeEvicted } from "../../listeners/stream.ts";
import { listenTcp } from "../../listeners/tcp.ts";
import type { TcpConnection, Stream, TcpTimes } from "../../listeners/tcp.ts";
import { decompress } from "../../kit/inflate.ts";
import { MsgpackScan } from "../../kit/msgpack-scan.ts";
import { BODY_MAX_BYTES } from "../../kit/endpoint.ts";
import type { ReadEvent, BodyReading } from "../../kit/endpoint.ts";
import { NOT_YET } from "../../kit/msgpack-scan.ts";
import { runSteps } from "../../kit/steps.ts";
import { storeEvents } from "../../append/store-events.ts";
import { forwardEvents, readMessage, malformedEvent } from "./decode.ts";
import type { ForwardMessage } from "./decode.ts";
import { Handshake } from "./handshake.ts";
import { SilentClients } from "./silent-clients.ts";

/** First byte of a heartbeat. */
const NIL = 0xc0;
/** Chunks of a connection that are remembered, and their longest id. */
const CHUNKS = 1_000;
const LONGEST_CHUNK = 128;
/** Messages of one connection that are stored at the same time. */
const AT_ONCE = 64;
/** Size limit of a message before the client has proved that it knows the shared key. */
const PING_BYTES = 4_096;

/** Fluent forward over TCP. Its addresses may contain a shared key. */
export const FORWARD_SOCKETS: SocketProtocol = {
  title: "Fluent forward",
  setting: {
    name: "LOGGIA_FORWARD",
    standard: "",
    help: "Fluent forward: tcp://host:port/log, several with commas (docs/producers/forward.md)",
    secret: true,
  },
  syntax: {
    transports: ["tcp"],
    routes: { parameters: ["shared_key"], keyed: false, example: "tcp://127.0.0.1:24224/log" },
  },
  metrics: { tcp: "forward" },
  listen: listenForForward,
};

/** Listens for Fluent forward at one address. @throws StartError if it cannot listen */
export function listenForForward(
  socket: SocketSettings,
  context: ListenerContext,
  times?: TcpTimes,
  silence_ms?: number,
): Promise<Listening> {
  const silent = new SilentClients(context.log, silence_ms);
  return listenTcp(socket, {
    protocol: FORWARD_SOCKETS,
    context,
    isAcknowledged: true,
    open: (connection) => new ForwardStream(connection, context, silent),
    ...(times !== undefined && { times }),
  });
}

class ForwardStream implements Stream {
  readonly #connection: TcpConnection;
  readonly #context: ListenerContext;
  readonly #sink: Sink;
  /** Memory of the messages as received, and of the entries of one that are decompressed. */
  readonly #share: BodyShare;
  readonly #owner: string;
  /** How often a chunk was acknowledged on the connection, for the latest chunks. */
  readonly #acknowledged = new Map<string, number>();
  /** Chunks acknowledged since bytes were last taken. */
  readonly #justAcknowledged: string[] = [];
  #handshake: Handshake | null = null;
  /** Called with the first bytes. */
  readonly #begin: () => void;
  #sentOtherSignals = false;
  /** Beginning of an incomplete message. */
  #held = new BodyBuffer(BODY_MAX_BYTES);
  #scan: MsgpackScan;
  frames = 0;

  constructor(connection: TcpConnection, context: ListenerContext, silent: SilentClients) {
    const { route, peer, tally, socket } = connection;
    this.#connection = connection;
    this.#context = context;
    this.#sink = new Sink(context, tally, route, peer);
    this.#owner = quotaOwner(context.catalog, route.log!);
    const { bodies, unfinished } = context.memory;
    const network = memoryNetwork(peer.address);
    this.#share = route.sharedKey === null ? unfinished.enter(network) : bodies.enter(this.#owner);
    this.#begin = route.sharedKey === null ? silent.watch(connection) : () => {};
    if (route.sharedKey !== null) {
      this.#handshake = new Handshake(route.sharedKey);
      socket.write(this.#handshake.hello());
    }
    this.#scan = this.#nextScan(0);
  }

  get hasPartialFrame(): boolean {
    return this.#held.size_bytes > 0;
  }

  async take(bytes: Buffer): Promise<void> {
    this.#begin();
    this.#share.onEvicted = null;
    const all = await this.#hold(bytes);
    let start = 0;
    const storing: Promise<void>[] = [];
    const yielder = this.#context.scheduler.beginDecoding();
    try {
      for (let end = this.#scan.end(all); end !== -1; end = this.#scan.end(all)) {
        if (yielder.isDue) await yielder.turn();
        if (end === NOT_YET) continue;
        this.frames += 1;
        const message = all.subarray(start, end);
        if (this.#handshake !== null) this.#greet(message);
        else if (message[0] !== NIL) await this.#storeLogs(await runSteps(readMessage(message), yielder), storing);
        start = end;
        this.#scan = this.#nextScan(start);
        if (start === all.length) break;
      }
    } finally {
      // Complete messages are stored even if a later one fails.
      this.#sink.flush();
      await Promise.all(storing);
      this.#countAcknowledged();
      this.#share.claim(0);
    }
    await this.#keep(all, start);
    if (this.hasPartialFrame) {
      this.#share.onEvicted = () => {
        this.#held.clear();
        closeEvicted(this.#connection);
      };
    }
    await this.#sink.untilRoom();
  }

  end(): Promise<void> {
    if (this.hasPartialFrame) this.#connection.tally.add("malformed");
    this.#held.clear();
    return Promise.resolve();
  }

  async drain(): Promise<void> {
    await this.#sink.drain();
    this.#share.release();
  }

  #nextScan(start: number): MsgpackScan {
    return new MsgpackScan(this.#handshake === null ? BODY_MAX_BYTES : PING_BYTES, start);
  }

  /**
   * Returns all bytes received of the current message.
   * @throws LoggiaError `overloaded`, `too_many_requests` if no memory becomes free in time
   */
  async #hold(bytes: Buffer): Promise<Buffer> {
    if (!this.hasPartialFrame) return bytes;
    this.#share.claim(BODY_MAX_BYTES);
    await this.#share.hold(this.#held.capacityWith(bytes.length), this.#context.abandoned);
    this.#held.append(bytes);
    return this.#held.bytes;
  }

  /** Keeps the bytes after the complete messages. */
  async #keep(all: Buffer, start: number): Promise<void> {
    // An incomplete message that is in the buffer already stays there.
    if (start === 0 && this.hasPartialFrame) return;
    this.#held = new BodyBuffer(BODY_MAX_BYTES);
    this.#share.tryHold(0);
    if (start < all.length) {
      const rest = all.subarray(start);
      await this.#share.hold(this.#held.capacityWith(rest.length), this.#context.abandoned);
      this.#held.append(rest);
    }
    // The rest is now at the start of its buffer.
    if (start > 0) this.#scan = this.#nextScan(0);
  }

  /** @throws LoggiaError `unauthorized`, `too_many_requests` */
  #greet(bytes: Buffer): void {
    const { guesses } = this.#context;
    const { peer, socket } = this.#connection;
    guesses.beforeKey(peer, "", () => undefined);
    const { isRight, pong, digest } = this.#handshake!.answer(bytes);
    socket.write(pong);
    if (!isRight) {
      guesses.wrongKey(peer, digest);
      throw new LoggiaError("unauthorized", "A Fluent forward client does not have the right shared key");
    }
    this.#handshake = null;
  }

  /** Stores a message of events. One of metrics or traces is acknowledged, or it would be sent again. */
  async #storeLogs(message: ForwardMessage, storing: Promise<void>[]): Promise<void> {
    if (message.isLogs) return this.#store({ ...message, earlier: this.#earlier(message.chunk) }, storing);
    const { tally, socket } = this.#connection;
    tally.add("refused");
    if (!this.#sentOtherSignals) {
      this.#sentOtherSignals = true;
      this.#context.log.warn(
        { tag: message.tag },
        "A Fluent forward client sends metrics or traces; only logs are stored",
      );
    }
    if (message.chunk !== null && socket.writable) socket.write(encode({ ack: message.chunk }));
  }

  /**
   * Returns how many messages with the same chunk were acknowledged before. Fluent Bit derives the
   * chunk from the content, so equal events have equal ones. Clients repeat a message only if its
   * acknowledgement has not arrived.
   */
  #earlier(chunk: string | null): number {
    return chunk === null ? 0 : (this.#acknowledged.get(chunk) ?? 0);
  }

  #acknowledge(chunk: string): void {
    const { socket } = this.#connection;
    if (!socket.writable) return;
    socket.write(encode({ ack: chunk }));
    if (chunk.length <= LONGEST_CHUNK) this.#justAcknowledged.push(chunk);
  }

  /**
   * Counts the acknowledgements written since the last call. A repeat that arrived together with its
   * message was sent before its client could see the acknowledgement.
   */
  #countAcknowledged(): void {
    for (const chunk of this.#justAcknowledged.splice(0)) {
      const earlier = this.#earlier(chunk);
      this.#acknowledged.delete(chunk);
      this.#acknowledged.set(chunk, earlier + 1);
    }
    for (const oldest of this.#acknowledged.keys()) {
      if (this.#acknowledged.size <= CHUNKS) break;
      this.#acknowledged.delete(oldest);
    }
  }

  /** Stores a message. Messages without an acknowledgement share appends. */
  async #store(message: ForwardMessage, storing: Promise<void>[]): Promise<void> {
    const entries = await this.#decompressed(message, storing);
    const { tally } = this.#connection;
    if (message.chunk === null) {
      let read = 0;
      const most = maxEvents(message.entries.length);
      const yielder = this.#context.scheduler.beginDecoding();
      for (const event of this.#readEntries(message, entries, () => tally.add("malformed"))) {
        if (!("fault" in event)) {
          if (++read > most) throw new LoggiaError("body_too_large", `A message has more than ${most} events`);
          void this.#sink.put(event, null);
        }
        if (!yielder.isDue) continue;
        this.#sink.flush();
        await this.#sink.untilRoom();
        await yielder.turn();
      }
      return;
    }
    storing.push(this.#storeAndAcknowledge(message, entries, message.chunk));
    if (storing.length >= AT_ONCE) await Promise.all(storing.splice(0));
  }

  /** Decompresses entries, one message of a connection at a time. Returns null if it fails. */
  async #decompressed({ entries, compressed }: ForwardMessage, storing: Promise<void>[]): Promise<Buffer | null> {
    if (compressed === "") return entries;
    await Promise.all(storing.splice(0));
    const besides_bytes = Math.max(0, this.#held.capacity_bytes - entries.length);
    const { scheduler, abandoned: gone } = this.#context;
    try {
      return await decompress(entries, compressed, BODY_MAX_BYTES, {
        scheduler,
        share: this.#share,
        besides_bytes,
        gone,
      });
    } catch (error) {
      const isMalformed = error instanceof LoggiaError && !(error instanceof ClientGone) && errorStatus(error) < 429;
      if (isMalformed) return null;
      throw error;
    }
  }

  /** Retries until a message is stored, then acknowledges it. */
  async #storeAndAcknowledge(message: ForwardMessage, entries: Buffer | null, chunk: string): Promise<void> {
    const { route, socket, tally } = this.#connection;
    const producer = {
      log: route.log!,
      owner: this.#owner,
      apiKey: "forward",
      tags: route.tags,
      repeat: null,
      awaitsOutcome: true,
      sent_bytes: message.entries.length,
    };
    let faults = 0;
    const begin = (): BodyReading => {
      faults = 0;
      return { items: this.#readEntries(message, entries, () => (faults += 1)), accepted: () => NO_ANSWER };
    };
    const done = await appendWithRetry(() => storeEvents(producer, entries?.length ?? 0, begin, this.#context), {
      context: this.#context,
      owner: this.#owner,
      what: "a Fluent forward message",
      // Without an acknowledgement, the client sends it again.
      isAbandoned: () => socket.destroyed,
    });
    if (done === null) return;
    const { stored } = done;
    tally.add("stored", stored.accepted);
    if (stored.cut > 0) tally.add("cut", stored.cut);
    if (faults > 0) tally.add("malformed", faults);
    this.#acknowledge(chunk);
  }

  *#readEntries(message: ForwardMessage, entries: Buffer | null, onFault: () => void): Generator<ReadEvent> {
    if (entries !== null) return yield* forwardEvents(message, entries, this.#context.limits, onFault);
    onFault();
    yield malformedEvent(message);
  }
}

const NO_ANSWER = Object.freeze({ status: 200, type: null, body: "" });
