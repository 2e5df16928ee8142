/**
 * Loaded into a process before the service: redirects connections from one address to another.
 * CHAOS_DETOUR is `host:port=host:port`. Kafka's clients use the address that the broker
 * advertises, so a proxy before it needs this; for Elasticsearch the proxy's address is simply
 * configured.
 */
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

const [from = "", to = ""] = (process.env["CHAOS_DETOUR"] ?? "").split("=");
const [fromHost, fromPort] = split(from);
const [toHost, toPort] = split(to);
const connect = net.connect as (...args: unknown[]) => net.Socket;

net.connect = (...args: unknown[]) => {
  const [options, ...more] = args;
  if (isDetoured(options)) return connect({ ...options, host: toHost, port: toPort }, ...more);
  return connect(...args);
};
syncBuiltinESMExports();

function isDetoured(options: unknown): options is { host: string; port: number } {
  if (typeof options !== "object" || options === null || !("host" in options) || !("port" in options)) return false;
  return options.host === fromHost && Number(options.port) === fromPort;
}

function split(address: string): [string, number] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon), Number(address.slice(colon + 1))];
}
