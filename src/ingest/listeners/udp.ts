import { createSocket } from "node:dgram";
import type { RemoteInfo, Socket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";

import { createBuckets } from "../../ratelimit/buckets.ts";
import { cannotListen } from "../../http/listen.ts";
import type { Yielder } from "../../scheduling/yielding.ts";
import type { RouteSettings, SocketSettings } from "../../settings/listeners.ts";
import { runSteps } from "../kit/steps.ts";
import type { ListenerContext, Listening } from "./listener.ts";
import { acceptsSender } from "./routes.ts";
import { Sink } from "./sink.ts";
import type { SocketProtocol } from "./socket-protocol.ts";
import type { ReadFrame } from "./stream.ts";
import type { ListenerTally } from "./tally.ts";

export type UdpOptions = {
  readonly protocol: SocketProtocol;
  readonly context: ListenerContext;
  /** Creates the reader of the datagrams of a route. */
  open(route: RouteSettings, tally: ListenerTally): DatagramReader;
};

/** Reader of messages of one or several datagrams each. */
export type DatagramReader = {
  /** Returns the message that a datagram contains or completes; null if it is incomplete. */
  message(datagram: Buffer, sender: RemoteInfo): Promise<Buffer | null> | Buffer | null;
  readonly read: ReadFrame;
  close(): void;
};

/** Bounds of the queue of received datagrams. */
const MAX_QUEUED = 20_000;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
const RECEIVE_BYTES = 8 * 1024 * 1024;
/** Datagrams taken from the queue at a time. */
const STEP_DATAGRAMS = 500;
const MAX_SENDERS = 10_000;

type QueuedDatagram = { readonly datagram: Buffer; readonly sender: RemoteInfo; readonly state: RouteState };
/** A route with its reader and the sinks for its events. */
type RouteState = {
  readonly route: RouteSettings;
  readonly reader: DatagramReader;
  /** Sinks by sender, because keys are counted by sender; by "" if the route leads to a log. */
  readonly sinks: Map<string, Sink>;
};

/** Opens a UDP listener. @throws StartError if it cannot listen */
export async function listenUdp(settings: SocketSettings, options: UdpOptions): Promise<Listening> {
  const listener = new UdpListener(settings, options);
  await listener.listen();
  return listener;
}

class UdpListener implements Listening {
  readonly host: string;
  port: number;
  readonly #options: UdpOptions;
  readonly #tally: ListenerTally;
  readonly #socket: Socket;
  readonly #routes: readonly RouteState[];
  readonly #rates;
  #queue: QueuedDatagram[] = [];
  #queued_bytes = 0;
  #running: Promise<void> | null = null;
  /** Number of datagrams that the system had dropped when the socket was closed. */
  #closedDrops: number | null = null;

  constructor({ host, port, routes }: SocketSettings, options: UdpOptions) {
    this.host = host;
    this.port = port;
    this.#options = options;
    this.#tally = options.context.tallyOf(options.protocol.metrics.udp!);
    this.#routes = routes.map((route) => ({ route, reader: options.open(route, this.#tally), sinks: new Map() }));
    const rate_s = options.context.datagrams_s;
    this.#rates = createBuckets({ rate_s, burst: 2 * rate_s, maxEntries: MAX_SENDERS });
    const type = isIP(host) === 6 ? "udp6" : "udp4";
    this.#socket = createSocket({ type, recvBufferSize: RECEIVE_BYTES });
  }

  async listen(): Promise<void> {
    const {
      protocol: { title, setting },
      context,
    } = this.#options;
    try {
      this.#socket.bind({ address: this.host, port: this.port });
      await once(this.#socket, "listening");
    } catch (error) {
      throw cannotListen(error, this, { name: title, setting: setting.name });
    }
    this.port = this.#socket.address().port;
    this.#socket.on("message", (datagram, sender) => this.#receive(datagram, sender));
    this.#socket.on("error", (error) => context.log.error({ err: error }, `the ${title} UDP socket reported an error`));
    this.#tally.watchSystemDrops(() => this.#closedDrops ?? systemDrops(this.port));
  }

  async close(): Promise<void> {
    // Read before closing: the system's counter disappears with the socket.
    this.#closedDrops = systemDrops(this.port);
    this.#socket.close();
    while (this.#running !== null) await this.#running;
    const sinks = this.#routes.flatMap((state) => [...state.sinks.values()]);
    await Promise.all(sinks.map((sink) => sink.drain()));
    for (const { reader } of this.#routes) reader.close();
  }

  #receive(datagram: Buffer, sender: RemoteInfo): void {
    const state = this.#routes.find(({ route }) => acceptsSender(route, sender.address));
    if (state === undefined) return this.#tally.add("refused");
    if (
      this.#queue.length >= MAX_QUEUED ||
      this.#queued_bytes + datagram.length > MAX_QUEUED_BYTES ||
      this.#rates.take(sender.address) > 0
    ) {
      return this.#tally.add("dropped");
    }
    this.#queue.push({ datagram, sender, state });
    this.#queued_bytes += datagram.length;
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const {
      protocol: { title },
      context: { log, scheduler },
    } = this.#options;
    while (this.#queue.length > 0) {
      scheduler.noteRequest();
      const taken = this.#queue.splice(0, STEP_DATAGRAMS);
      for (const { datagram } of taken) this.#queued_bytes -= datagram.length;
      const sinks = new Set<Sink>();
      const yielder = scheduler.beginDecoding();
      for (const one of taken) {
        if (yielder.isDue) await yielder.turn();
        await this.#take(one, sinks, yielder).catch((error: unknown) => {
          this.#tally.add("malformed");
          log.error({ err: error }, `a ${title} datagram failed with an unexpected error`);
        });
      }
      for (const sink of sinks) sink.flush();
      await new Promise(setImmediate);
    }
    this.#running = null;
  }

  async #take({ datagram, sender, state }: QueuedDatagram, sinks: Set<Sink>, yielder: Yielder): Promise<void> {
    const given = state.reader.message(datagram, sender);
    const bytes = given instanceof Promise ? await given : given;
    if (bytes === null) return;
    const read = await runSteps(state.reader.read({ bytes, isCut: false }), yielder);
    if (read === null) return;
    const sink = this.#sinkOf(state, sender.address);
    sinks.add(sink);
    const waits = sink.put(read.event, read.secret);
    if (waits !== undefined) await waits;
  }

  /** Returns the sink of a sender. All senders of a route share one if the route leads to a log. */
  #sinkOf({ route, sinks }: RouteState, address: string): Sink {
    const name = route.log === null ? address : "";
    const known = sinks.get(name);
    if (known !== undefined) return known;
    if (sinks.size >= Math.ceil(MAX_SENDERS / this.#routes.length)) dropOldest(sinks);
    // Senders of datagrams can be forged, so their wrong keys count separately.
    const peer = { address: `udp ${address}`, connection: null };
    const sink = new Sink(this.#options.context, this.#tally, route, peer, { drops: true });
    sinks.set(name, sink);
    return sink;
  }
}

function dropOldest(sinks: Map<string, Sink>): void {
  const [name, sink] = sinks.entries().next().value!;
  sinks.delete(name);
  void sink.drain();
}

/** Returns how many datagrams for this port the system dropped; 0 if that is unknown. */
function systemDrops(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  let drops = 0;
  for (const file of ["/proc/net/udp", "/proc/net/udp6"]) {
    try {
      for (const line of readFileSync(file, "utf8").split("\n").slice(1)) {
        const columns = line.trim().split(/\s+/);
        if (columns[1]?.endsWith(local) === true) drops += Number(columns.at(-1)) || 0;
      }
    } catch {
      // Not Linux, or no permission.
    }
  }
  return drops;
}
