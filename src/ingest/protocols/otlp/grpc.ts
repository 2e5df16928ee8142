import { constants, createServer } from "node:http2";
import type {
  Http2Server,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";

import { LoggiaError } from "../../../errors.ts";
import type { Sender } from "../../../ratelimit/address.ts";
import { quotaOwner } from "../../../ratelimit/quota-owner.ts";
import { shedConnections } from "../../../http/limits/connections.ts";
import { publicError } from "../../../http/errors.ts";
import { listenOn } from "../../../http/listen.ts";
import { noteRequest } from "../../../scheduling/cooperative.ts";
import type { SocketSettings } from "../../../settings/listeners.ts";
import type { ListenerContext, Listening } from "../../listeners/listener.ts";
import type { SocketProtocol } from "../../listeners/socket-protocol.ts";
import { authorizeByKey } from "../../../auth/requests/posting-key.ts";
import { readFieldChoice } from "../../kit/choice.ts";
import { keyInRequest } from "../../../auth/requests/request-key.ts";
import { storeEvents } from "../../append/store-events.ts";
import { decodeProtobuf } from "./decode-protobuf.ts";
import { framed, receiveMessage } from "./grpc-message.ts";
import { ANSWER, grpcFailureHeaders, SUCCESS } from "./grpc-status.ts";
import { success } from "./respond.ts";

const EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
const TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/i;
const NO_QUERY = new URLSearchParams();

export type GrpcTimes = {
  /** Longest time a message may take to arrive. */
  readonly message_ms: number;
  /** Longest time a connection may have no call: before the first one, and later. */
  readonly first_ms: number;
  readonly idle_ms: number;
  /** Time for calls to finish when the listener closes. */
  readonly drain_ms: number;
};

const TIMES: GrpcTimes = { message_ms: 60_000, first_ms: 60_000, idle_ms: 600_000, drain_ms: 4_000 };
const SETTINGS = { maxConcurrentStreams: 64, maxHeaderListSize: 16 * 1024, enablePush: false };
const SESSION_MB = 4;
const REFUSED_MS = 1_000;

/** OpenTelemetry logs over gRPC. The keys of requests select the logs. */
export const GRPC_SOCKETS: SocketProtocol = {
  title: "OTLP over gRPC",
  setting: {
    name: "LOGGIA_OTLP_GRPC",
    standard: "",
    help: "address for OTLP logs over gRPC, host:port, usually port 4317 (docs/producers/otlp.md)",
  },
  syntax: {
    transports: ["tcp"],
    routes: null,
  },
  metrics: { tcp: "otlp_grpc" },
  listen: listenForGrpc,
};

/** Listens for OpenTelemetry logs over gRPC. @throws StartError if it cannot listen */
export async function listenForGrpc(
  socket: SocketSettings,
  context: ListenerContext,
  times: GrpcTimes = TIMES,
): Promise<Listening> {
  const listener = new GrpcListener(context, times);
  return await listener.listen(socket);
}

class GrpcListener {
  readonly #context: ListenerContext;
  readonly #times: GrpcTimes;
  readonly #server: Http2Server;
  readonly #tally;
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Running calls of each connection, by peer address, because sessions hide their sockets. */
  readonly #calls = new Map<string, number>();

  constructor(context: ListenerContext, times: GrpcTimes) {
    this.#context = context;
    this.#times = times;
    this.#tally = context.tallyOf(GRPC_SOCKETS.metrics.tcp!);
    this.#server = createServer({ settings: SETTINGS, maxSessionMemory: SESSION_MB });
    const isAnswering = (socket: Socket): boolean => this.#calls.has(peerOf(socket));
    shedConnections(this.#server, context.connections, isAnswering, () => this.#tally.add("refused"));
    this.#server.on("connection", (socket: Socket) => {
      this.#tally.connections += 1;
      socket.once("close", () => (this.#tally.connections -= 1));
    });
    this.#server.on("session", (session) => this.#begin(session));
    this.#server.on("sessionError", () => this.#tally.add("malformed"));
    this.#server.on("stream", (stream, headers) => void this.#serve(stream as ServerHttp2Stream, headers));
  }

  async listen(address: SocketSettings): Promise<Listening> {
    const listening = await listenOn(this.#server, address, {
      name: GRPC_SOCKETS.title,
      setting: GRPC_SOCKETS.setting.name,
    });
    // Accepting failed for lack of descriptors. Without a handler, this would end the process.
    this.#server.on("error", () => this.#tally.add("refused"));
    return { ...listening, close: () => this.#close() };
  }

  #begin(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.setTimeout(this.#times.first_ms, () => session.destroy());
    session.once("stream", () => session.setTimeout(this.#times.idle_ms));
  }

  /** Closes the listener after running calls have finished, or after the drain timeout. */
  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    const timer = setTimeout(() => {
      for (const session of this.#sessions) session.destroy();
    }, this.#times.drain_ms);
    await closed;
    clearTimeout(timer);
  }

  async #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on("error", () => {});
    const { session } = stream;
    if (session === undefined || session.destroyed) return;
    noteRequest();
    const peer = peerOf(session.socket);
    this.#calls.set(peer, (this.#calls.get(peer) ?? 0) + 1);
    try {
      if (!TYPE.test(headers["content-type"] ?? "") || headers[":method"] !== "POST") {
        refuse(stream, { ":status": 415 });
        return;
      }
      const message = await this.#export(stream, headers, session);
      if (stream.destroyed || stream.headersSent) return;
      stream.on("wantTrailers", () => stream.sendTrailers(SUCCESS));
      stream.respond(ANSWER, { waitForTrailers: true });
      stream.end(framed(message));
    } catch (error) {
      this.#fail(stream, error);
    } finally {
      const left = this.#calls.get(peer)! - 1;
      if (left === 0) this.#calls.delete(peer);
      else this.#calls.set(peer, left);
    }
  }

  /** Stores the records of a call. Returns its response, an `ExportLogsServiceResponse`. */
  async #export(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    session: object & { socket: Sender["socket"] },
  ): Promise<Uint8Array> {
    const { limiter, guesses, catalog, memory } = this.#context;
    const sender: Sender = { socket: session.socket, headers };
    const found = guesses.peerAt(sender, limiter.enter(sender));
    const peer = { ...found, connection: found.connection === null ? null : session };
    if (headers[":path"] !== EXPORT) {
      throw new LoggiaError("path_not_found", "Only the export of OpenTelemetry logs is implemented here");
    }
    const grant = await authorizeByKey(keyInRequest(undefined, NO_QUERY, headers), null, peer, this.#context);
    const owner = quotaOwner(catalog, grant.log);
    const share = memory.bodies.enter(owner);
    const gone = closeSignal(stream);
    try {
      const encoding = String(headers["grpc-encoding"] ?? "");
      const received = await receiveMessage(stream, { encoding, share, deadline_ms: this.#times.message_ms, gone });
      const { body, sent_bytes } = received;
      const choice = readFieldChoice(NO_QUERY, headers);
      const producer = { log: grant.log, owner, apiKey: grant.id, tags: choice.tags, repeat: null, sent_bytes, gone };
      const { limits } = this.#context;
      const begin = () => ({
        items: decodeProtobuf({ body, choice, sent_bytes, limits }),
        accepted: (outcome: Parameters<typeof success>[1]) => success("protobuf", outcome),
      });
      const { reading, stored } = await storeEvents(producer, body.length, begin, this.#context);
      this.#tally.add("stored", stored.accepted);
      if (stored.cut > 0) this.#tally.add("cut", stored.cut);
      return reading.accepted(stored).body as Uint8Array;
    } finally {
      share.release();
    }
  }

  #fail(stream: ServerHttp2Stream, error: unknown): void {
    const shown = publicError(error);
    const { log } = this.#context;
    if (stream.destroyed && shown !== error) return;
    if (shown.status >= 500) log.error({ err: error }, "a gRPC call failed");
    this.#tally.add(shown.status === 400 || shown.status === 413 ? "malformed" : "refused");
    if (stream.destroyed || stream.headersSent) return;
    refuse(stream, { ...ANSWER, ...grpcFailureHeaders(shown) });
  }
}

/** Answers before the message is complete. Drops its rest, and resets a client that continues. */
function refuse(stream: ServerHttp2Stream, headers: OutgoingHttpHeaders): void {
  stream.respond(headers, { endStream: true });
  stream.resume();
  // An immediate reset would overtake the response.
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), REFUSED_MS);
  stream.once("close", () => clearTimeout(timer));
}

/** Returns a signal that fires when a stream is closed. */
function closeSignal(stream: ServerHttp2Stream): AbortSignal {
  const left = new AbortController();
  if (stream.closed) left.abort();
  else stream.once("close", () => left.abort());
  return left.signal;
}

function peerOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
