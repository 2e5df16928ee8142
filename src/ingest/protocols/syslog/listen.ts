import type { ListenerContext, Listening } from "../../listeners/listener.ts";
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
const NAMES = Object.freeze({ title: "syslog", setting: "LOGGIA_SYSLOG" });

/** Listens for syslog at one address. @throws StartError if it cannot listen */
export function listenForSyslog(
  socket: SocketSettings,
  context: ListenerContext,
  times?: TcpTimes,
): Promise<Listening> {
  if (socket.transport === "udp") {
    return listenUdp(socket, { ...NAMES, name: "syslog_udp", context, open: (route) => datagrams(route, context) });
  }
  return listenTcp(socket, {
    ...NAMES,
    name: "syslog_tcp",
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
