import type { SettingRow } from "../../settings/setting.ts";
import type { ProtocolEndpoint } from "../kit/endpoint.ts";
import type { SocketProtocol } from "../listeners/socket-protocol.ts";

/**
 * Manifest of a protocol of other producers: which requests belong to it, how they are decoded and
 * answered, and which sockets it has.
 */
export type Protocol = {
  readonly name: string;
  /** Page that describes it, below `docs/producers`. */
  readonly page: string;
  /**
   * Returns the endpoint of a request; null if the protocol has none at this path.
   * @param path without the prefix `/1/logs/{k}` or `/keys/{apikey}`
   */
  match?(method: string, path: string): ProtocolEndpoint | null;
  readonly sockets?: SocketProtocol;
  /** Settings beside those of its sockets. */
  readonly settings?: readonly ProtocolSetting[];
};

/** A setting whose value matches a pattern. `allowed` describes it in the error for others. */
export type ProtocolSetting = SettingRow & { readonly pattern: RegExp; readonly allowed: string };
