import type { RemoteInfo } from "node:dgram";

import { LoggiaError } from "../../../errors.ts";
import type { SocketSettings } from "../../../settings/listeners.ts";
import type { Frame } from "../../listeners/frames.ts";
import type { ListenerContext, Listening } from "../../listeners/listener.ts";
import { FrameStream } from "../../listeners/stream.ts";
import type { KeyedEvent } from "../../listeners/stream.ts";
import type { ListenerTally } from "../../listeners/tally.ts";
import { listenTcp } from "../../listeners/tcp.ts";
import type { TcpTimes } from "../../listeners/tcp.ts";
import { listenUdp } from "../../listeners/udp.ts";
import type { DatagramReader } from "../../listeners/udp.ts";
import { USUAL } from "../choice.ts";
import { eventOfText } from "../document.ts";
import { decompress, encodingOfContent } from "../inflate.ts";
import { CUT_TAG } from "../line.ts";
import { PENDING } from "../protocol.ts";
import { Chunks } from "./chunks.ts";
import { decodeGelf } from "./decode.ts";

/** Size limit of a message. JSON cannot be cut: a longer message is kept as text, shortened. */
const MESSAGE_BYTES = 1024 * 1024;
const FRAMES = Object.freeze({ most_bytes: MESSAGE_BYTES, nulOnly: true, counted: false });
/** Limit of the decompressed size of a message. */
const INFLATED_BYTES = 2 * 1024 * 1024;
const KEPT_BYTES = 64 * 1024;
const NAMES = Object.freeze({ title: "GELF", setting: "LOGGIA_GELF" });

/** Listens for GELF at one address. @throws StartError if it cannot listen */
export function listenForGelf(socket: SocketSettings, context: ListenerContext, times?: TcpTimes): Promise<Listening> {
  if (socket.transport === "udp") {
    return listenUdp(socket, { ...NAMES, name: "gelf_udp", context, open: (_route, tally) => datagrams(tally) });
  }
  return listenTcp(socket, {
    ...NAMES,
    name: "gelf_tcp",
    context,
    open: (connection) => new FrameStream(FRAMES, (frame) => readMessage(frame, connection.tally), connection, context),
    ...(times !== undefined && { times }),
  });
}

function datagrams(tally: ListenerTally): DatagramReader {
  const chunks = new Chunks((messages) => tally.add("malformed", messages));
  const timer = setInterval(() => chunks.expire(), 1_000).unref();
  return {
    message(datagram: Buffer, { address, port }: RemoteInfo) {
      const message = chunks.take(datagram, `${address} ${port}`);
      const encoding = message === null ? "" : encodingOfContent(message);
      return message === null || encoding === "" ? message : inflated(message, encoding);
    },
    read: (frame) => readMessage(frame, tally),
    close: () => clearInterval(timer),
  };
}

/** Decodes a message as sent by UDP, compressed or not. */
export async function readDatagram({ bytes, isCut }: Frame, tally: ListenerTally): Promise<KeyedEvent | null> {
  const encoding = encodingOfContent(bytes);
  return readMessage({ bytes: encoding === "" ? bytes : await inflated(bytes, encoding), isCut }, tally);
}

/** Decompresses a message. If that fails, it is returned unchanged. */
async function inflated(message: Buffer, encoding: string): Promise<Buffer> {
  try {
    return await decompress(message, encoding, INFLATED_BYTES);
  } catch (error) {
    if (error instanceof LoggiaError) return message;
    throw error;
  }
}

/** Decodes a message. A malformed one becomes the text of an event. */
function readMessage({ bytes, isCut }: Frame, tally: ListenerTally): KeyedEvent | null {
  if (bytes.length === 0) return null;
  if (!isCut) {
    try {
      const [message, ...more] = [...decodeGelf(bytes, USUAL)].filter((read) => read !== PENDING);
      if (message !== undefined && more.length === 0 && !("fault" in message)) return { event: message, secret: null };
    } catch (error) {
      if (!(error instanceof LoggiaError)) throw error;
    }
  }
  const text = bytes.toString("utf8", 0, KEPT_BYTES).trim();
  if (text === "") return null;
  tally.add("malformed");
  const tags = isCut || bytes.length > KEPT_BYTES ? [CUT_TAG] : [];
  return { event: eventOfText(text, { tags }), secret: null };
}
