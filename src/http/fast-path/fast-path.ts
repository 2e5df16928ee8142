import type { OutgoingHttpHeaders, Server } from "node:http";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import { readInto } from "./read-into.ts";
import type { BufferedRead } from "./read-into.ts";
import { parseRequestHead } from "./request-head.ts";
import type { RequestHead } from "./request-head.ts";
import type { Scheduler } from "../../scheduling/scheduler.ts";

/** Response to a request of the fast path. */
export type PlainAnswer = {
  readonly status: number;
  readonly headers: Readonly<OutgoingHttpHeaders>;
  /** ASCII only. */
  readonly payload: string;
};

/** Handler for requests of one kind. */
export type FastPath<Route> = {
  /**
   * Returns the route of a request head, or null to decline. Results are cached by head, so it must
   * depend on the head alone.
   */
  route(head: RequestHead): Route | null;
  /**
   * Takes a request and calls `answer` once, now or later. Returns false to leave the request to
   * the server; then it must not have had any effect.
   * @param body is overwritten by the next read
   */
  take(route: Route, body: Buffer, socket: Socket, answer: (plain: PlainAnswer) => void): boolean;
};

export type FastPathOptions = {
  /** How long a connection may be idle between two requests. */
  readonly keepAlive_ms: number;
  /** How long a connection may take to send its first byte. */
  readonly first_ms: number;
  readonly scheduler: Scheduler;
};

const HEAD_END = Buffer.from("\r\n\r\n");
/** Largest head handled here. */
const HEAD_MAX_BYTES = 2_048;
const BODY_MAX_BYTES = 64 * 1024;
/** Maximum number of cached heads. Producers repeat the same few heads. */
const HEADS_MAX = 2_048;
/**
 * How long the rest of a request that arrives in two chunks may take, before the connection is
 * handed to the server with its own timeouts.
 */
const REST_MS = 1_000;
/** Connections with more unread response bytes than this fall back to node:http. */
const UNREAD_MAX_BYTES = 16 * 1024;
/** Shared read buffer of all connections. Data that is kept is copied. */
const READ = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Answers requests of one kind straight from the bytes of a connection, before `server` sees them.
 * Creating a request and a response with their streams and events is most of the work of
 * `node:http` for a small post, and nearly all posts are alike.
 *
 * Only a single request that arrives whole in one or two chunks, with a head that {@link
 * parseRequestHead} accepts, is answered here. Otherwise the connection, with all bytes read, is
 * handed to the server and stays there. So each rule of HTTP is implemented only in the server, and
 * this code may only decline.
 */
export function addFastPath<Route>(
  server: Server,
  path: FastPath<Route>,
  { keepAlive_ms, first_ms, scheduler }: FastPathOptions,
): { readonly isAnswering: (socket: Socket) => boolean } {
  const [accept] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (accept === undefined) throw new TypeError("the server has no listener for connections");
  const heads = new Map<string, CachedHead<Route> | null>();
  const open = new Map<Socket, FastConnection<Route>>();
  const shared: SharedState<Route> = {
    path,
    scheduler,
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
    removed: (socket) => void open.delete(socket),
    handOver: (socket) => accept.call(server, socket),
    refuse: (socket, error) => void server.emit("clientError", error, socket),
  };
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => void open.set(socket, new FastConnection(socket, shared, first_ms)));

  // The server knows only the connections handed to it.
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

type CachedHead<Route> = { readonly route: Route; readonly contentLength: number };

/** State shared by the connections of a server. */
type SharedState<Route> = {
  readonly path: FastPath<Route>;
  readonly scheduler: Scheduler;
  readonly keepAlive_ms: number;
  /** End of the response head if the connection stays open. */
  readonly keepAlive: string;
  isClosing(): boolean;
  head(text: string): CachedHead<Route> | null;
  removed(socket: Socket): void;
  handOver(socket: Socket): void;
  refuse(socket: Socket, error: Error): void;
};

class FastConnection<Route> {
  readonly #socket: Socket;
  readonly #shared: SharedState<Route>;
  /** Unprocessed input: the beginning of a request, or input after the request in progress. */
  #unprocessed: Buffer | null = null;
  #answering = false;
  /** Whether the client has half-closed the connection. */
  #ended = false;
  #restTimer: NodeJS.Timeout | null = null;
  readonly #bufferedRead: BufferedRead | null;
  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onAnswer = (plain: PlainAnswer): void => this.#answer(plain);
  readonly #onEnd = (): void => this.#end();
  readonly #onTimeout = (): void => this.#expire();
  readonly #onError = (): void => this.destroy();
  readonly #onClose = (): void => {
    this.#stopWaiting();
    this.#shared.removed(this.#socket);
  };
  #isFirst = true;
  /** Whether `closeIfIdle` was called since the last response. */
  #isClosing = false;

  constructor(socket: Socket, shared: SharedState<Route>, first_ms: number) {
    this.#socket = socket;
    this.#shared = shared;
    this.#bufferedRead = readInto(socket, READ, (size) => this.#read(READ.subarray(0, size)));
    if (this.#bufferedRead === null) socket.on("data", this.#onData);
    socket.on("end", this.#onEnd).on("error", this.#onError).on("close", this.#onClose);
    socket.on("timeout", this.#onTimeout).setTimeout(first_ms);
    // Flowing mode, as with a data listener: input after a refusal is discarded.
    socket.resume();
  }

  get isAnswering(): boolean {
    return this.#answering;
  }

  closeIfIdle(): void {
    if (this.#answering || this.#unprocessed !== null) return;
    // The client may still be reading its last response; the next call closes the connection.
    if (this.#socket.writableEnded && !this.#isClosing) this.#isClosing = true;
    else this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** @param chunk is overwritten by the next read */
  #read(chunk: Buffer): void {
    // The response said that the connection is closed, so further input is ignored.
    if (this.#socket.writableEnded) return;
    this.#shared.scheduler.noteRequest();
    const kept = this.#unprocessed;
    const whole = kept === null ? chunk : Buffer.concat([kept, chunk]);
    if (this.#answering) {
      // A pipelined request. The server keeps the order of responses.
      this.#unprocessed = Buffer.from(whole);
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
    const known = this.#shared.head(whole.toString("latin1", 0, end));
    if (known === null || known.contentLength > BODY_MAX_BYTES) return this.#handOver(whole);
    const start = end + HEAD_END.length;
    const missing = start + known.contentLength - whole.length;
    if (missing > 0 && !isSecond) return this.#awaitRest(whole);
    if (missing !== 0 || this.#socket.writableLength > UNREAD_MAX_BYTES) return this.#handOver(whole);
    this.#unprocessed = null;
    this.#answering = true;
    if (this.#shared.path.take(known.route, whole.subarray(start), this.#socket, this.#onAnswer)) return;
    this.#answering = false;
    this.#handOver(whole);
  }

  #answer({ status, headers, payload }: PlainAnswer): void {
    this.#answering = false;
    const socket = this.#socket;
    if (socket.destroyed) return;
    const isLast = this.#ended || this.#shared.isClosing();
    socket.write(`${headOf(status, headers)}${isLast ? LAST : this.#shared.keepAlive}${payload}`, "latin1");
    if (isLast) {
      this.#unprocessed = null;
      socket.end();
      // Reading is paused if more input has arrived, which hides the client's close.
      socket.resume();
    } else if (this.#unprocessed !== null) this.#handOver(this.#unprocessed);
    else if (this.#isFirst) {
      this.#isFirst = false;
      socket.setTimeout(this.#shared.keepAlive_ms);
    }
  }

  #awaitRest(first: Buffer): void {
    const kept = Buffer.from(first);
    this.#unprocessed = kept;
    this.#restTimer = setTimeout(() => this.#handOver(kept), REST_MS).unref();
  }

  #stopWaiting(): void {
    if (this.#restTimer === null) return;
    clearTimeout(this.#restTimer);
    this.#restTimer = null;
  }

  #end(): void {
    this.#ended = true;
    if (this.#answering) return;
    if (this.#unprocessed === null) this.#socket.end();
    else this.#release((socket) => this.#shared.refuse(socket, failure("HPE_INVALID_EOF_STATE")));
  }

  #expire(): void {
    if (this.#answering || this.#unprocessed !== null) return;
    if (!this.#isFirst) this.destroy();
    else this.#release((socket) => this.#shared.refuse(socket, failure("ERR_HTTP_REQUEST_TIMEOUT")));
  }

  #handOver(unread: Buffer): void {
    const own = Buffer.from(unread);
    this.#release((socket) => {
      socket.pause();
      socket.unshift(own);
      this.#shared.handOver(socket);
      socket.resume();
    });
  }

  /** Removes all listeners and passes the socket on. */
  #release(to: (socket: Socket) => void): void {
    const socket = this.#socket;
    this.#stopWaiting();
    this.#bufferedRead?.stop();
    socket.setTimeout(0);
    socket
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onError)
      .off("close", this.#onClose)
      .off("timeout", this.#onTimeout);
    this.#shared.removed(this.#socket);
    to(socket);
  }
}

/** End of the head of a connection's last response. */
const LAST = "Connection: close\r\n\r\n";

function keepAliveOf(keepAlive_ms: number): string {
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAlive_ms / 1000)}\r\n\r\n`;
}

/** Returns the server's error for a missing or incomplete request. */
function failure(code: "ERR_HTTP_REQUEST_TIMEOUT" | "HPE_INVALID_EOF_STATE"): Error {
  return Object.assign(new Error("No complete request arrived"), { code });
}

/** A response head. All but its date is fixed, and the date changes once a second. */
type Head = { readonly lines: string; second: number; dated: string };
const heads = new WeakMap<Readonly<OutgoingHttpHeaders>, Head>();

/**
 * Returns the status line and headers, with the date as in RFC 9110 §5.6.7. The text is cached for
 * each headers object, for a second.
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
