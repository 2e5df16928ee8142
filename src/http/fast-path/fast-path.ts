import type { OutgoingHttpHeaders, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import { noteRequest } from "../../scheduling/cooperative.ts";
import { readInto } from "./read-into.ts";
import type { Reading } from "./read-into.ts";
import { parseRequestHead } from "./request-head.ts";
import type { RequestHead } from "./request-head.ts";

/** What is answered to a request of the fast path. */
export type PlainAnswer = {
  readonly status: number;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  /** ASCII. */
  readonly payload: string;
};

/** How requests of one kind are taken. */
export type FastPath<Route> = {
  /** What a head leads to; null: nothing here. Asked once for many equal heads, so it must depend on nothing else. */
  route(head: RequestHead): Route | null;
  /**
   * Takes a request, and calls `answer` once, now or later. False leaves it to the server, as if it
   * had never been here: then nothing may have been done about it.
   * @param body is written over by what comes next
   */
  take(route: Route, body: Buffer, socket: Socket, answer: (plain: PlainAnswer) => void): boolean;
};

const HEAD_END = Buffer.from("\r\n\r\n");
/** Larger heads go the usual way. */
const HEAD_MAX_BYTES = 2_048;
const BODY_MAX_BYTES = 64 * 1024;
/** Heads that are remembered: producers send the same ones over and over, but for the length. */
const HEADS_MAX = 2_048;
/**
 * How long the rest of a request that came in two pieces may take, before it is left to the server
 * with its own time-outs.
 */
const REST_MS = 1_000;
/** Whoever leaves so much of what was answered unread is left to the server as well. */
const UNREAD_MAX_BYTES = 16 * 1024;
/** Into which all connections are read, one after the other. What is kept of it is copied. */
const READ = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Answers requests of one kind straight from the bytes of a connection, before `server` sees them.
 * Creating the objects of a request and a response, with their streams and events, is most of what
 * a bare `node:http` does for a small post; and nearly all posts are alike.
 *
 * Only what {@link parseRequestHead} calls plain, came whole in one or two pieces, and alone, is
 * taken here. With anything else the connection, and all that was read of it, is handed to the
 * server and stays there: so each rule of HTTP is kept in one place, and this one is only ever
 * allowed to say "not mine".
 *
 * @param keepAlive_ms how long a connection may stay idle between two requests
 * @param first_ms how long it may take to send its first byte
 */
export function addFastPath<Route>(
  server: Server,
  path: FastPath<Route>,
  { keepAlive_ms, first_ms }: { readonly keepAlive_ms: number; readonly first_ms: number },
): { readonly isAnswering: (socket: Socket) => boolean } {
  const [accept] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (accept === undefined) throw new TypeError("the server takes no connections");
  const heads = new Map<string, Known<Route> | null>();
  const open = new Map<Socket, FastConnection<Route>>();
  const lane: Lane<Route> = {
    path,
    keepAlive_ms,
    keepAlive: keepAliveOf(keepAlive_ms),
    isClosing: () => !server.listening,
    head(text) {
      let known = heads.get(text);
      if (known === undefined) {
        if (heads.size >= HEADS_MAX) heads.clear();
        const head = parseRequestHead(text);
        const route = head === null ? null : path.route(head);
        known = head === null || route === null ? null : { route, contentLength: head.contentLength };
        heads.set(text, known);
      }
      return known;
    },
    left: (socket) => void open.delete(socket),
    handOver: (socket) => accept.call(server, socket),
    refuse: (socket, error) => void server.emit("clientError", error, socket),
  };
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => void open.set(socket, new FastConnection(socket, lane, first_ms)));

  // The server knows of its own requests alone.
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeAll = server.closeAllConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    for (const connection of open.values()) connection.closeIfIdle();
  };
  server.closeAllConnections = () => {
    closeAll();
    for (const connection of open.values()) connection.destroy();
  };
  return { isAnswering: (socket) => open.get(socket)?.isAnswering === true };
}

type Known<Route> = { readonly route: Route; readonly contentLength: number };

/** What the connections of a server share. */
type Lane<Route> = {
  readonly path: FastPath<Route>;
  readonly keepAlive_ms: number;
  /** How a head ends where the connection stays. */
  readonly keepAlive: string;
  isClosing(): boolean;
  head(text: string): Known<Route> | null;
  left(socket: Socket): void;
  handOver(socket: Socket): void;
  refuse(socket: Socket, error: Error): void;
};

class FastConnection<Route> {
  readonly #socket: Socket;
  readonly #lane: Lane<Route>;
  /** What came and is not dealt with: the beginning of a request, or what came before the one in hand was answered. */
  #kept: Buffer | null = null;
  #answering = false;
  /** Whether the client has said that it sends no more. */
  #ended = false;
  #rest: NodeJS.Timeout | null = null;
  readonly #reading: Reading | null;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onAnswer = (plain: PlainAnswer): void => this.#answer(plain);
  readonly #onEnd = (): void => this.#end();
  readonly #onTimeout = (): void => this.#expire();
  readonly #onError = (): void => this.destroy();
  readonly #onClose = (): void => {
    this.#stopWaiting();
    this.#lane.left(this.#socket);
  };
  #isFirst = true;
  /** Whether somebody looked for idle ones since its last answer. */
  #isLeaving = false;

  constructor(socket: Socket, lane: Lane<Route>, first_ms: number) {
    this.#socket = socket;
    this.#lane = lane;
    this.#reading = readInto(socket, READ, (size) => this.#read(READ.subarray(0, size)));
    if (this.#reading === null) socket.on("data", this.#onData);
    socket.on("end", this.#onEnd).on("error", this.#onError).on("close", this.#onClose);
    socket.on("timeout", this.#onTimeout).setTimeout(first_ms);
    // Flowing, as with a listener to its data: what still comes after a refusal is let go.
    socket.resume();
  }

  get isAnswering(): boolean {
    return this.#answering;
  }

  closeIfIdle(): void {
    if (this.#answering || this.#kept !== null) return;
    // Of one that has just been given its last answer the client may not have read that yet.
    if (this.#socket.writableEnded && !this.#isLeaving) this.#isLeaving = true;
    else this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** @param chunk is written over by what comes next */
  #read(chunk: Buffer): void {
    // It was told that the connection is closed: whatever it sends after that is for another one.
    if (this.#socket.writableEnded) return;
    noteRequest();
    const kept = this.#kept;
    const whole = kept === null ? chunk : Buffer.concat([kept, chunk]);
    if (this.#answering) {
      // Its next request, before the answer: the server keeps the order of such.
      this.#kept = Buffer.from(whole);
      this.#socket.pause();
      return;
    }
    this.#stopWaiting();
    const isSecond = kept !== null;
    const end = whole.indexOf(HEAD_END);
    if (end < 0 || end > HEAD_MAX_BYTES) {
      if (isSecond || whole.length > HEAD_MAX_BYTES) this.#handOver(whole);
      else this.#awaitRest(whole);
      return;
    }
    const known = this.#lane.head(whole.toString("latin1", 0, end));
    if (known === null || known.contentLength > BODY_MAX_BYTES) return this.#handOver(whole);
    const start = end + HEAD_END.length;
    const missing = start + known.contentLength - whole.length;
    if (missing > 0 && !isSecond) return this.#awaitRest(whole);
    if (missing !== 0 || this.#socket.writableLength > UNREAD_MAX_BYTES) return this.#handOver(whole);
    this.#kept = null;
    this.#answering = true;
    if (this.#lane.path.take(known.route, whole.subarray(start), this.#socket, this.#onAnswer)) return;
    this.#answering = false;
    this.#handOver(whole);
  }

  #answer({ status, headers, payload }: PlainAnswer): void {
    this.#answering = false;
    const socket = this.#socket;
    if (socket.destroyed) return;
    const isLast = this.#ended || this.#lane.isClosing();
    socket.write(`${headOf(status, headers)}${isLast ? LAST : this.#lane.keepAlive}${payload}`, "latin1");
    if (isLast) {
      this.#kept = null;
      socket.end();
      // Where more came, reading was stopped, and with it hearing of the end.
      socket.resume();
    } else if (this.#kept !== null) this.#handOver(this.#kept);
    else if (this.#isFirst) {
      this.#isFirst = false;
      socket.setTimeout(this.#lane.keepAlive_ms);
    }
  }

  #awaitRest(first: Buffer): void {
    const kept = Buffer.from(first);
    this.#kept = kept;
    this.#rest = setTimeout(() => this.#handOver(kept), REST_MS).unref();
  }

  #stopWaiting(): void {
    if (this.#rest === null) return;
    clearTimeout(this.#rest);
    this.#rest = null;
  }

  #end(): void {
    this.#ended = true;
    if (this.#answering) return;
    if (this.#kept === null) this.#socket.end();
    else this.#release((socket) => this.#lane.refuse(socket, failure("HPE_INVALID_EOF_STATE")));
  }

  #expire(): void {
    if (this.#answering || this.#kept !== null) return;
    if (!this.#isFirst) this.destroy();
    else this.#release((socket) => this.#lane.refuse(socket, failure("ERR_HTTP_REQUEST_TIMEOUT")));
  }

  #handOver(unread: Buffer): void {
    const own = Buffer.from(unread);
    this.#release((socket) => {
      socket.pause();
      socket.unshift(own);
      this.#lane.handOver(socket);
      socket.resume();
    });
  }

  /** Gives the socket away: nothing of this listens to it any more. */
  #release(to: (socket: Socket) => void): void {
    const socket = this.#socket;
    this.#stopWaiting();
    this.#reading?.stop();
    socket.setTimeout(0);
    socket
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onError)
      .off("close", this.#onClose)
      .off("timeout", this.#onTimeout);
    this.#lane.left(this.#socket);
    to(socket);
  }
}

/** The end of a head. */
const LAST = "Connection: close\r\n\r\n";

function keepAliveOf(keepAlive_ms: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAlive_ms / 1000)}\r\n\r\n`;
}

/** A request that did not come, or not whole, by the code that the server has for it. */
function failure(code: "ERR_HTTP_REQUEST_TIMEOUT" | "HPE_INVALID_EOF_STATE"): Error {
  return Object.assign(new Error("No whole request came"), { code });
}

/** A head as far as the moment of the answer, which has whole seconds. */
type Head = { readonly lines: string; second: number; dated: string };
const heads = new WeakMap<Readonly<OutgoingHttpHeaders>, Head>();

/**
 * The status line and headers, with the moment as RFC 9110 §5.6.7 writes it. Headers that are the
 * same object every time are written once a second.
 */
function headOf(status: number, headers: Readonly<OutgoingHttpHeaders>): string {
  let head = heads.get(headers);
  if (head === undefined) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    head = { lines: `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}`, second: -1, dated: "" };
    heads.set(headers, head);
  }
  const second = Math.floor(Date.now() / 1000);
  if (second !== head.second) {
    head.second = second;
    head.dated = `${head.lines}Date: ${new Date(second * 1000).toUTCString()}\r\n`;
  }
  return head.dated;
}
