import type { SocketSettings, SocketSyntax, Transport } from "../../settings/listeners.ts";
import type { SettingRow } from "../../settings/setting.ts";
import type { ListenerContext, Listening } from "./listener.ts";

/** The sockets of a protocol. */
export type SocketProtocol = {
  /** Name in messages, such as "syslog". */
  readonly title: string;
  /** The setting that holds its addresses. */
  readonly setting: SettingRow;
  readonly syntax: SocketSyntax;
  /** Name of the listener of each transport in metrics. */
  readonly metrics: Readonly<Partial<Record<Transport, string>>>;
  /** Listens at one address. @throws StartError if it cannot listen */
  listen(socket: SocketSettings, context: ListenerContext): Promise<Listening>;
};
