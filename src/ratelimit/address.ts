import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { BlockList } from "node:net";

/** The parts of a request that identify its sender. */
export type Sender = {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
};

/**
 * Returns a client's address for rate limits: an IPv4 address, or the first 64 bits of an IPv6
 * address, because the owner of one address in such a network controls all of them.
 */
export type AddressOf = (sender: Sender) => string;

/**
 * Creates a reader of client addresses. `X-Forwarded-For` counts only if the connection comes from
 * a trusted proxy, and is read from the right: each proxy appends its peer, so entries forged by
 * the client are to the left of the client's own address, where reading stops.
 */
export function createAddressReader(trusted: BlockList): AddressOf {
  const trusts = createTrust(trusted);
  return ({ socket, headers }) => {
    // A connection that is already closed has no address.
    let address = plain(socket.remoteAddress ?? "");
    if (!trusts(address)) return networkOf(address);
    const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
    for (const entry of forwarded.toReversed()) {
      const before = plain(withoutPort(entry.trim()));
      // A proxy that names no client counts as the client.
      if (isIP(before) === 0) break;
      address = before;
      if (!trusts(address)) break;
    }
    return networkOf(address);
  };
}

/** Whether the remote address of a connection is that of a trusted proxy. */
export function isTrustedProxy(trusted: BlockList, remoteAddress: string | undefined): boolean {
  return isAmong(trusted, remoteAddress);
}

/**
 * Whether an address is in the list. IPv4-mapped IPv6 addresses, as dual-stack sockets report them,
 * match as IPv4.
 */
export function isAmong(addresses: BlockList, remoteAddress: string | undefined): boolean {
  const address = plain(remoteAddress ?? "");
  return address !== "" && addresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function createTrust(trusted: BlockList): (address: string | undefined) => boolean {
  // Most deployments have no proxy, and the check is the most expensive step here.
  return trusted.rules.length === 0 ? () => false : (address) => isTrustedProxy(trusted, address);
}

/** Headers that a proxy adds. A client that sends one itself gains nothing. */
const FORWARDING = ["x-forwarded-for", "forwarded", "via"] as const;

/** Returns the forwarding headers of a request. */
export function forwardingHeaders(headers: ReadonlyMap<string, string>): IncomingHttpHeaders {
  return Object.fromEntries(FORWARDING.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : [])));
}

/** Returns the connection of a request, or null if a proxy shares the connection among clients. */
export type ConnectionOf = (sender: Sender) => object | null;

export function createConnectionReader(trusted: BlockList): ConnectionOf {
  const trusts = createTrust(trusted);
  return ({ socket, headers }) => {
    if (FORWARDING.some((name) => headers[name] !== undefined)) return null;
    return trusts(socket.remoteAddress) ? null : socket;
  };
}

/** Whether a request comes from this machine itself and was not forwarded by a proxy. */
export function isFromLoopback({ socket, headers }: Sender): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  const address = plain(socket.remoteAddress ?? "");
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/**
 * Returns the network in which guesses are counted: an IPv4 address, or the 48 bits of an IPv6
 * site, which includes all of its 64-bit networks.
 * @param address as {@link AddressOf} returns it
 */
export function guessNetwork(address: string): string {
  const [, site] = /^((?:[^:]+:){3})[^:]+::\/64$/.exec(address) ?? [];
  return site === undefined ? address : `${site}:/48`;
}

/**
 * Returns the network that counts as one owner of memory: the 24 bits of an IPv4 network, or the 48
 * bits of an IPv6 site.
 * @param address as {@link AddressOf} returns it, or of a socket
 */
export function memoryNetwork(address: string): string {
  const client = networkOf(plain(address));
  const [, network] = /^(\d+\.\d+\.\d+)\.\d+$/.exec(client) ?? [];
  return network === undefined ? guessNetwork(client) : `${network}.0/24`;
}

/** Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

/** IPv4-mapped IPv6 addresses, dotted as in RFC 4291 §2.5.5.2 or as two groups of hex digits. */
const MAPPED = /^(?:::|(?:0{1,4}:){5})ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i;

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

/** Returns an IPv4-mapped IPv6 address as IPv4, and any other address without its zone. */
function plain(address: string): string {
  const [, mapped, high, low] = MAPPED.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (high !== undefined && low !== undefined) return [...bytesOf(high), ...bytesOf(low)].join(".");
  const zone = address.indexOf("%");
  return zone === -1 ? address : address.slice(0, zone);
}

function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  // A dotted IPv4 address at the end takes the place of two groups.
  const groups = before.length + after.length + (address.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups) }, () => "0");
  const first = [...before, ...zeros, ...after].slice(0, 4);
  return `${first.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
