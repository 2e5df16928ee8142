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
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { lineOfBytes } from "../../kit/text-lines.ts";
import { eventOfLine } from "./decode.ts";

/** Size limit of a line. JSON cannot be cut: a longer object is kept as text, shortened. */
const LINE_BYTES = 1024 * 1024;
const FRAMES = Object.freeze({ most_bytes: LINE_BYTES, nulOnly: false, counted: false });

/** Lines over TCP and UDP. */
export const LINE_SOCKETS: SocketProtocol = {
  title: "lines",
  setting: {
    name: "LOGGIA_LINES",
    standard: "",
    help: "lines: tcp://host:port/log, udp://…, several with commas (docs/producers/lines.md)",
  },
  syntax: {
    transports: ["tcp", "udp"],
    routes: { parameters: [], keyed: false, example: "tcp://127.0.0.1:5000/log" },
  },
  metrics: { tcp: "lines_tcp", udp: "lines_udp" },
  listen: listenForLines,
};

/**
 * Listens at one address for lines, as clients of Logstash's TCP and UDP inputs send them: each is
 * a JSON object or plain text. A datagram is one line.
 * @throws StartError if it cannot listen
 */
export function listenForLines(socket: SocketSettings, context: ListenerContext, times?: TcpTimes): Promise<Listening> {
  if (socket.transport === "udp") {
    const open = (_route: unknown, tally: ListenerTally) => ({
      message: (datagram: Buffer) => datagram,
      read: (frame: Frame) => readLine(frame, tally),
      close() {},
    });
    return listenUdp(socket, { protocol: LINE_SOCKETS, context, open });
  }
  return listenTcp(socket, {
    protocol: LINE_SOCKETS,
    context,
    open: (connection) => new FrameStream(FRAMES, (frame) => readLine(frame, connection.tally), connection, context),
    ...(times !== undefined && { times }),
  });
}

function* readLine({ bytes, isCut }: Frame, tally: ListenerTally): Steps<KeyedEvent | null> {
  const read = yield* lineOfBytes(bytes, isCut);
  const line = typeof read === "string" ? read.trim() : read;
  if (line === "") return null;
  if (isCut) tally.add("malformed");
  return { event: tagIfCut(isCut, yield* eventOfLine(line)), secret: null };
}
