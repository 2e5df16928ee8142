import type { ListenerContext, Listening } from "../../listeners/listener.ts";
import type { SocketProtocol } from "../../listeners/socket-protocol.ts";
import { FrameStream } from "../../listeners/stream.ts";
import type { ReadFrame } from "../../listeners/stream.ts";
import { listenTcp } from "../../listeners/tcp.ts";
import type { TcpTimes } from "../../listeners/tcp.ts";
import { listenUdp } from "../../listeners/udp.ts";
import type { RouteSettings, SocketSettings } from "../../../settings/listeners.ts";
import { TEXT_KEPT_BYTES } from "../../kit/long-json.ts";
import { SyslogDecoder } from "./decode.ts";

/** Size limit of the header of a message, with its structured data. */
const HEADER_BYTES = 64 * 1024;
/** Longer messages are cut. An event cannot hold more. */
const MESSAGE_BYTES = TEXT_KEPT_BYTES + HEADER_BYTES;
const FRAMES = Object.freeze({ most_bytes: MESSAGE_BYTES, nulOnly: false, counted: true });

/** Syslog over TCP and UDP. */
export const SYSLOG_SOCKETS: SocketProtocol = {
  title: "syslog",
  setting: {
    name: "LOGGIA_SYSLOG",
    standard: "",
    help: "syslog: tcp://host:port/log, udp://…, several with commas (docs/producers/syslog.md)",
  },
  syntax: {
    transports: ["tcp", "udp"],
    routes: { parameters: ["zone", "year", "json"], keyed: true, example: "tcp://127.0.0.1:514/log" },
  },
  metrics: { tcp: "syslog_tcp", udp: "syslog_udp" },
  listen: listenForSyslog,
};

/** Listens for syslog at one address. @throws StartError if it cannot listen */
export function listenForSyslog(
  socket: SocketSettings,
  context: ListenerContext,
  times?: TcpTimes,
): Promise<Listening> {
  if (socket.transport === "udp") {
    return listenUdp(socket, { protocol: SYSLOG_SOCKETS, context, open: (route) => datagrams(route, context) });
  }
  return listenTcp(socket, {
    protocol: SYSLOG_SOCKETS,
    context,
    open: (connection) => new FrameStream(FRAMES, messages(connection.route, context), connection, context),
    ...(times !== undefined && { times }),
  });
}

function messages(route: RouteSettings, { clock }: ListenerContext): ReadFrame {
  const decoder = new SyslogDecoder(route);
  // A message is so short that it is decoded in one step.
  // oxlint-disable-next-line require-yield
  return function* ({ bytes, isCut }) {
    return bytes.length === 0 ? null : decoder.read(bytes, isCut, clock.latest());
  };
}

function datagrams(route: RouteSettings, context: ListenerContext) {
  const read = messages(route, context);
  return { message: withoutEnd, read, close() {} };
}

/** Removes a line ending, which some senders put at the end of a datagram. */
function withoutEnd(datagram: Buffer): Buffer {
  let end = datagram.length;
  while (end > 0 && (datagram[end - 1] === 0 || datagram[end - 1] === 0x0a || datagram[end - 1] === 0x0d)) end -= 1;
  return datagram.subarray(0, end);
}
