import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Time per turn of the event loop for pipelined input, over all connections of a server. */
const TURN_MS = 1;
const HEAD_END = "\r\n\r\n";
/** Smallest part of a body, so that a body full of blank lines is not split into tiny parts. */
const PART_MIN_BYTES = 128;
const PART_MAX_BYTES = 8_192;
const PARTS_MAX = 16;

/**
 * Limits pipelining. Node parses a whole chunk at once, up to a thousand requests in 64 KB, before
 * anything else runs. Here only the first request of a chunk is parsed at once. The following ones
 * take turns with other connections, and wait while `atOnce` requests of their connection are
 * unanswered or their responses unread. While input waits, its connection is not read.
 *
 * Call it before other code takes over the server's connections.
 */
export function limitPipelining(server: Server, atOnce: number): void {
  const [accept] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (accept === undefined) throw new TypeError("the server has no listener for connections");
  const turns = new ResumeQueue();
  const inputs = new WeakMap<Socket, Input>();
  server.off("connection", accept).on("connection", (socket: Socket) => {
    accept.call(server, socket);
    const [parse] = socket.listeners("data") as unknown as Parse[];
    if (parse !== undefined) inputs.set(socket, new Input(socket, parse, turns, atOnce));
  });
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) =>
    inputs.get(request.socket)?.began(request, response),
  );
}

type Parse = (chunk: Buffer) => void;

/** Resumes inputs in the order in which they were queued. */
class ResumeQueue {
  #waiting: Input[] = [];

  add(input: Input): void {
    if (this.#waiting.push(input) === 1) setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    const end_ms = performance.now() + TURN_MS;
    let done = 0;
    do this.#waiting[done++]!.resume();
    while (done < this.#waiting.length && performance.now() < end_ms);
    this.#waiting = this.#waiting.slice(done);
    if (this.#waiting.length > 0) setImmediate(this.#turn);
  };
}

/** Input of a connection on its way to Node's parser. */
class Input {
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #turns: ResumeQueue;
  readonly #atOnce: number;
  /** Input that is not parsed yet. */
  #rest: Buffer | null = null;
  #latest: IncomingMessage | null = null;
  #unanswered = 0;
  #isQueued = false;
  #isPaused = false;

  constructor(socket: Socket, parse: Parse, turns: ResumeQueue, atOnce: number) {
    this.#socket = socket;
    this.#parse = parse;
    this.#turns = turns;
    this.#atOnce = atOnce;
    // With a listener of our own, Node emits the data instead of reading and parsing it internally.
    socket
      .off("data", parse as never)
      .on("data", this.#take as never)
      .on("drain", this.#wake);
  }

  began(request: IncomingMessage, response: ServerResponse): void {
    this.#latest = request;
    this.#unanswered += 1;
    response.once("close", () => {
      this.#unanswered -= 1;
      this.#wake();
    });
  }

  resume(): void {
    this.#isQueued = false;
    this.#feed();
  }

  readonly #take = (chunk: Buffer): void => {
    const isWaiting = this.#rest !== null;
    this.#rest = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    if (isWaiting) this.#pause();
    else this.#feed();
  };

  readonly #wake = (): void => {
    if (this.#rest === null || this.#isQueued) return;
    this.#isQueued = true;
    this.#turns.add(this);
  };

  /** Parses up to the end of one request, or all available input of it. */
  #feed(): void {
    // Other code may have taken over the connection, to discard its input.
    if (this.#socket.destroyed || !(this.#socket.listeners("data") as unknown[]).includes(this.#take))
      this.#rest = null;
    const before = this.#latest;
    for (let parts = 1; this.#rest !== null; parts++) {
      if (this.#mustWait()) return this.#pause();
      const part = this.#nextPart(this.#rest);
      this.#parse(part);
      const isOver = this.#latest !== before && this.#latest?.complete === true;
      if (this.#rest !== null && (isOver || parts === PARTS_MAX)) {
        this.#wake();
        return this.#pause();
      }
    }
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #nextPart(rest: Buffer): Buffer {
    const isBody = this.#latest?.complete === false;
    const end = rest.indexOf(HEAD_END, isBody ? PART_MIN_BYTES - HEAD_END.length : 0, "latin1");
    const size = Math.min(end === -1 ? rest.length : end + HEAD_END.length, PART_MAX_BYTES);
    this.#rest = size < rest.length ? rest.subarray(size) : null;
    return rest.subarray(0, size);
  }

  /**
   * Whether parsing must wait. A request that has begun is read to its end. Node's parser accepts
   * nothing while it is paused.
   */
  #mustWait(): boolean {
    // oxlint-disable-next-line no-underscore-dangle
    if ((this.#socket as Socket & { readonly _paused?: boolean })._paused === true) return true;
    return this.#unanswered >= this.#atOnce && this.#latest?.complete === true;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }
}
