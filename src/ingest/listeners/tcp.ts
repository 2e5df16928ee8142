import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { ClientGone, LoggiaError, errorStatus } from "../../errors.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import { listenOn } from "../../http/listen.ts";
import type { RouteSettings, SocketSettings } from "../../settings/listeners.ts";
import type { ListenerContext, Listening } from "./listener.ts";
import { acceptsSender } from "./routes.ts";
import type { SocketProtocol } from "./socket-protocol.ts";
import type { ListenerTally } from "./tally.ts";

/** A connection from an address that has a route. */
export type TcpConnection = {
  readonly socket: Socket;
  readonly peer: Peer;
  readonly route: RouteSettings;
  readonly tally: ListenerTally;
};

/** Decoder of the bytes of one connection. */
export type Stream = {
  /** Takes bytes. Resolves when it can take more; if it rejects, the connection is closed. */
  take(bytes: Buffer): Promise<void>;
  /** Number of complete frames read. */
  readonly frames: number;
  /** Whether a frame has been received in part. */
  readonly hasPartialFrame: boolean;
  /** Queues what is left at the end of the stream. Resolves once there is room for it. */
  end(): Promise<void>;
  /** Resolves once everything is stored. */
  drain(): Promise<void>;
};

export type TcpOptions = {
  readonly protocol: SocketProtocol;
  readonly context: ListenerContext;
  /** Whether stored events are acknowledged, so that clients resend all others. */
  readonly isAcknowledged?: boolean;
  /** Creates the decoder of a connection. */
  open(connection: TcpConnection): Stream;
  readonly times?: TcpTimes;
};

export type TcpTimes = {
  /** Longest time a frame may take, from its first byte to its last. */
  readonly frame_ms: number;
  /** Longest silence of a connection that has not sent a complete frame yet. */
  readonly first_ms: number;
  readonly idle_ms: number;
  /** Time at shutdown for clients to stop sending after their connection was half-closed. */
  readonly ending_ms: number;
};

/**
 * Clients may stay silent indefinitely: most would write their next message into a closed
 * connection and lose it. Idle connections are evicted first when the listener is full, and TCP
 * keep-alive detects those whose client is gone.
 */
const TIMES: TcpTimes = { frame_ms: 60_000, first_ms: Infinity, idle_ms: Infinity, ending_ms: 1_000 };
const SLOW_CHECK_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
const PAUSE_MS = 20;
/** Parts of the time that clients have to stop sending at shutdown. */
const ENDING_STEPS = 10;
/** Time a client has to read its last responses. */
const LINGER_MS = 5_000;
/** Share of all connections that one address may hold. */
const ADDRESS_SHARE = 0.5;
/** Connections with more unread response bytes than this are closed. */
const UNREAD_BYTES = 1024 * 1024;

/** State of a connection. */
type State = {
  readonly stream: Stream;
  readonly address: string;
  /** Start of the wait for the rest of a frame, or for the next frame. */
  since_ms: number;
  frames: number;
  hasPartialFrame: boolean;
  /** Whether the service, not the client, is being waited for. */
  isBusy: boolean;
  /** Called when there may be more bytes to read. */
  wake: () => void;
};

/** Opens a TCP listener. @throws StartError if it cannot listen */
export async function listenTcp(settings: SocketSettings, options: TcpOptions): Promise<Listening> {
  const listener = new TcpListener(settings, options);
  await listener.listen();
  return listener;
}

class TcpListener implements Listening {
  readonly host: string;
  port: number;
  readonly #routes: readonly RouteSettings[];
  readonly #options: TcpOptions;
  readonly #times: TcpTimes;
  readonly #tally: ListenerTally;
  readonly #server: Server;
  /** Open connections in order of arrival. */
  readonly #open = new Map<Socket, State>();
  /** Open connections that only wait for their events to be stored, oldest first. */
  readonly #received = new Set<Socket>();
  /** Connections, open or not, whose events are not stored yet. */
  readonly #serving = new Set<Promise<void>>();
  readonly #ofAddress = new Map<string, number>();
  #slowTimer: NodeJS.Timeout | null = null;
  /** Whether only bytes that have already arrived are still read. */
  #isClosing = false;

  constructor({ host, port, routes }: SocketSettings, options: TcpOptions) {
    this.host = host;
    this.port = port;
    this.#routes = routes;
    this.#options = options;
    this.#times = options.times ?? TIMES;
    this.#tally = options.context.tallyOf(options.protocol.metrics.tcp!);
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, noDelay: true };
    this.#server = createServer({ allowHalfOpen: true, ...keepAlive }, (socket) => this.#accept(socket));
  }

  async listen(): Promise<void> {
    const { title, setting } = this.#options.protocol;
    const { port } = await listenOn(this.#server, this, { name: title, setting: setting.name });
    this.port = port;
    // Accepting failed for lack of descriptors. Without a handler, this would end the process.
    this.#server.on("error", () => this.#tally.add("refused"));
    this.#slowTimer = setInterval(() => this.#closeSlow(), SLOW_CHECK_MS).unref();
  }

  async close(): Promise<void> {
    if (this.#slowTimer !== null) clearInterval(this.#slowTimer);
    this.#server.close();
    const served = Promise.all(this.#serving);
    if (this.#options.isAcknowledged !== true) {
      // Clients that see the half-close stop by themselves. What they have sent by then is read.
      for (const socket of this.#open.keys()) socket.end();
      // In steps, so that a stall of this process takes no more than one of them.
      const step_ms = this.#times.ending_ms / ENDING_STEPS;
      for (let step = 0; step < ENDING_STEPS && this.#open.size > 0; step++)
        await Promise.race([served, sleep(step_ms, undefined, { ref: false })]);
    }
    this.#isClosing = true;
    for (const { wake } of this.#open.values()) wake();
    await served;
  }

  #accept(socket: Socket): void {
    socket.on("error", () => {});
    const route = this.#routes.find((one) => acceptsSender(one, socket.remoteAddress)) ?? null;
    const address = socket.remoteAddress ?? "";
    if (route === null || !this.#hasRoom(address, socket)) {
      this.#tally.add("refused");
      socket.destroy();
      return;
    }
    const sender = { socket, headers: {} };
    const peer = this.#options.context.guesses.peerAt(sender, address);
    const stream = this.#options.open({ socket, peer, route, tally: this.#tally });
    const since_ms = performance.now();
    const rest = { since_ms, frames: 0, hasPartialFrame: false, isBusy: false, wake() {} };
    const state: State = { stream, address, ...rest };
    this.#open.set(socket, state);
    this.#ofAddress.set(address, (this.#ofAddress.get(address) ?? 0) + 1);
    this.#tally.connections += 1;
    const served = this.#serve(socket, state).finally(() => {
      this.#remove(socket, state);
      this.#serving.delete(served);
    });
    this.#serving.add(served);
  }

  async #serve(socket: Socket, state: State): Promise<void> {
    const { log } = this.#options.context;
    const wake = (): void => state.wake();
    socket.on("readable", wake).on("end", wake).on("close", wake);
    try {
      await this.#read(socket, state);
    } catch (error) {
      if (error instanceof ClientGone) this.#tally.add("refused");
      else if (error instanceof LoggiaError) this.#tally.add(errorStatus(error) === 400 ? "malformed" : "refused");
      else log.error({ err: error }, `a ${this.#options.protocol.title} connection failed with an unexpected error`);
    }
    state.isBusy = true;
    const unstored = (error: unknown): void =>
      log.error({ err: error }, "the rest of a connection could not be stored");
    await state.stream.end().catch(unstored);
    if (this.#options.isAcknowledged !== true) this.#received.add(socket);
    await state.stream.drain().catch(unstored);
    endSocket(socket);
  }

  /**
   * Reads until the client ends the stream, or the service stops and all arrived bytes are read.
   */
  async #read(socket: Socket, state: State): Promise<void> {
    for (let isLast = false; !isLast;) {
      isLast = this.#isClosing;
      const more = new Promise<void>((resolve) => (state.wake = resolve));
      const bytes = socket.read() as Buffer | null;
      if (bytes !== null) await this.#take(socket, state, bytes);
      else if (socket.readableEnded || socket.destroyed) return;
      else if (!isLast) await more;
      if (socket.writableLength > UNREAD_BYTES) return;
    }
  }

  async #take(socket: Socket, state: State, bytes: Buffer): Promise<void> {
    const { stream } = state;
    this.#options.context.scheduler.noteRequest();
    state.isBusy = true;
    await this.#admit(socket);
    await stream.take(bytes);
    state.isBusy = false;
    if (stream.frames !== state.frames || stream.hasPartialFrame !== state.hasPartialFrame)
      state.since_ms = performance.now();
    state.frames = stream.frames;
    state.hasPartialFrame = stream.hasPartialFrame;
  }

  /** Waits while its address or the owner of its log exceeds a rate limit. */
  async #admit(socket: Socket): Promise<void> {
    const { limiter, abandoned } = this.#options.context;
    for (;;) {
      try {
        limiter.enter({ socket, headers: {} });
        return;
      } catch (error) {
        if (!(error instanceof LoggiaError) || abandoned.aborted) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** Returns whether a connection may be accepted. Evicts another one if the listener is full. */
  #hasRoom(address: string, socket: Socket): boolean {
    const { connections: most, descriptors } = this.#options.context.connections;
    const ofAddress = this.#ofAddress.get(address) ?? 0;
    if (ofAddress >= Math.max(1, most * ADDRESS_SHARE) && !this.#closeReceived(address)) return false;
    if (this.#open.size < most && descriptorOf(socket) < descriptors) return true;
    if (this.#closeReceived(null)) return true;
    const evicted = this.#evictionCandidate();
    if (evicted === null) return false;
    this.#tally.add("refused");
    evicted.destroy();
    return true;
  }

  /**
   * Closes a connection that has been read to its end, of this address or of any. Its events are
   * stored nevertheless. Some clients open a connection for each event: while the bus is slow, theirs
   * would keep out the next ones.
   */
  #closeReceived(address: string | null): boolean {
    for (const socket of this.#received) {
      const state = this.#open.get(socket)!;
      if (address !== null && state.address !== address) continue;
      socket.destroy();
      this.#remove(socket, state);
      return true;
    }
    return false;
  }

  /** Returns the oldest connection without a complete frame; if none, the longest idle one. */
  #evictionCandidate(): Socket | null {
    let found: { socket: Socket; state: State } | null = null;
    for (const [socket, state] of this.#open) {
      if (state.isBusy || socket.destroyed) continue;
      if (state.frames === 0) return socket;
      if (found === null || state.since_ms < found.state.since_ms) found = { socket, state };
    }
    return found?.socket ?? null;
  }

  #closeSlow(): void {
    const now_ms = performance.now();
    const { frame_ms, first_ms, idle_ms } = this.#times;
    for (const [socket, { since_ms, frames, hasPartialFrame, isBusy }] of this.#open) {
      const most_ms = hasPartialFrame ? frame_ms : frames === 0 ? first_ms : idle_ms;
      if (isBusy || now_ms - since_ms <= most_ms) continue;
      if (hasPartialFrame || frames === 0) this.#tally.add("refused");
      socket.destroy();
    }
  }

  #remove(socket: Socket, { address }: State): void {
    if (!this.#open.delete(socket)) return;
    this.#received.delete(socket);
    this.#tally.connections -= 1;
    const left = (this.#ofAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#ofAddress.delete(address);
    else this.#ofAddress.set(address, left);
  }
}

/** Ends a connection. If the client does not read, the remaining responses may never be sent. */
function endSocket(socket: Socket): void {
  if (socket.destroyed) return;
  socket.end(() => socket.destroy());
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

type Handle = { readonly fd?: number } | null;

/** The system assigns the lowest free descriptor, so all lower ones are in use. */
function descriptorOf(socket: Socket): number {
  // oxlint-disable-next-line no-underscore-dangle
  return (socket as Socket & { readonly _handle?: Handle })._handle?.fd ?? -1;
}
