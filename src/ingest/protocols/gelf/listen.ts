import type { RemoteInfo } from "node:dgram";

import { LoggiaError } from "../../../errors.ts";
import type { SocketSettings } from "../../../settings/listeners.ts";
import type { Frame } from "../../listeners/frames.ts";
import type { ListenerContext, Listening } from "../../listeners/listener.ts";
import type { SocketProtocol } from "../../listeners/socket-protocol.ts";
import { FrameStream } from "../../listeners/stream.ts";
import type { KeyedEvent } from "../../listeners/stream.ts";
import type { ListenerTally } from "../../listeners/tally.ts";
import { listenTcp } from "../../listeners/tcp.ts";
import type { TcpTimes } from "../../listeners/tcp.ts";
import { listenUdp } from "../../listeners/udp.ts";
import type { DatagramReader } from "../../listeners/udp.ts";
import { USUAL } from "../../kit/choice.ts";
import { eventOfText } from "../../kit/document.ts";
import { decompress, encodingOfContent } from "../../kit/inflate.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineBeginning } from "../../kit/text-lines.ts";
import { isPending } from "../../kit/steps.ts";
import type { ProducerEvent } from "../../kit/endpoint.ts";
import { Chunks } from "./chunks.ts";
import { decodeGelf } from "./decode.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** Size limit of a message. JSON cannot be cut: a longer message is kept as text, shortened. */
const MESSAGE_BYTES = 1024 * 1024;
const FRAMES = Object.freeze({ most_bytes: MESSAGE_BYTES, nulOnly: true, counted: false });
/** Limit of the decompressed size of a message. */
const INFLATED_BYTES = 2 * 1024 * 1024;

/** GELF over UDP and TCP. */
export const GELF_SOCKETS: SocketProtocol = {
  title: "GELF",
  setting: {
    name: "LOGGIA_GELF",
    standard: "",
    help: "GELF: udp://host:port/log, tcp://…, several with commas (docs/producers/gelf.md)",
  },
  syntax: {
    transports: ["udp", "tcp"],
    routes: { parameters: [], keyed: false, example: "udp://127.0.0.1:12201/log" },
  },
  metrics: { tcp: "gelf_tcp", udp: "gelf_udp" },
  listen: listenForGelf,
};

/** Listens for GELF at one address. @throws StartError if it cannot listen */
export function listenForGelf(socket: SocketSettings, context: ListenerContext, times?: TcpTimes): Promise<Listening> {
  if (socket.transport === "udp") {
    return listenUdp(socket, { protocol: GELF_SOCKETS, context, open: (_route, tally) => datagrams(tally, context) });
  }
  return listenTcp(socket, {
    protocol: GELF_SOCKETS,
    context,
    open: (connection) => new FrameStream(FRAMES, (frame) => readMessage(frame, connection.tally), connection, context),
    ...(times !== undefined && { times }),
  });
}

function datagrams(tally: ListenerTally, { scheduler }: ListenerContext): DatagramReader {
  const chunks = new Chunks((messages) => tally.add("malformed", messages));
  const timer = setInterval(() => chunks.expire(), 1_000).unref();
  return {
    message(datagram: Buffer, { address, port }: RemoteInfo) {
      const message = chunks.take(datagram, `${address} ${port}`);
      return message === null ? null : inflatedMessage(message, scheduler);
    },
    read: (frame) => readMessage(frame, tally),
    close: () => clearInterval(timer),
  };
}

/** Decompresses a message that is compressed. */
export function inflatedMessage(message: Buffer, scheduler: Scheduler): Promise<Buffer> | Buffer {
  const encoding = encodingOfContent(message);
  return encoding === "" ? message : inflated(message, encoding, scheduler);
}

/** Decompresses a message. If that fails, it is returned unchanged. */
async function inflated(message: Buffer, encoding: string, scheduler: Scheduler): Promise<Buffer> {
  try {
    return await decompress(message, encoding, INFLATED_BYTES, { scheduler });
  } catch (error) {
    if (error instanceof LoggiaError) return message;
    throw error;
  }
}

/** Decodes a message. A malformed one becomes the text of an event. */
export function* readMessage({ bytes, isCut }: Frame, tally: ListenerTally): Steps<KeyedEvent | null> {
  if (bytes.length === 0) return null;
  const event = isCut ? null : yield* onlyEventOf(bytes);
  if (event !== null) return { event, secret: null };
  const begin = lineBeginning(bytes, isCut);
  const text = begin.text.trim();
  if (text === "") return null;
  tally.add("malformed");
  return { event: tagIfCut(begin.isCut, eventOfText(text)), secret: null };
}

/** Returns the event of bytes that are exactly one message; null for others. */
function* onlyEventOf(bytes: Buffer): Steps<ProducerEvent | null> {
  let only: ProducerEvent | null = null;
  try {
    for (const read of decodeGelf(bytes, USUAL)) {
      if (isPending(read)) yield read;
      else if ("fault" in read || only !== null) return null;
      else only = read;
    }
  } catch (error) {
    if (!(error instanceof LoggiaError)) throw error;
  }
  return only;
}
