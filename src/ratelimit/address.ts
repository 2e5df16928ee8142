import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { BlockList } from "node:net";

/** Of a request, what tells who sent it. */
export type Sender = {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: IncomingHttpHeaders;
};

/**
 * Where a request comes from, as one client is told from another: an IPv4 address, or the first 64
 * bits of an IPv6 one, for whoever has one address of such a network has all of them.
 */
export type AddressOf = (sender: Sender) => string;

/**
 * Reads the address of a request's connection. `X-Forwarded-For` counts where the connection comes
 * from a trusted proxy, and then from the right: each proxy adds whom it talks with, so what a
 * client made up stands left of what the first trusted proxy saw.
 */
export function createAddressReader(trusted: BlockList): AddressOf {
  const trusts = createTrust(trusted);
  return ({ socket, headers }) => {
    // A connection that is gone already has none.
    let address = plain(socket.remoteAddress ?? "");
    if (!trusts(address)) return networkOf(address);
    const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
    for (const entry of forwarded.toReversed()) {
      const before = plain(withoutPort(entry.trim()));
      // A proxy that does not say whom it speaks for speaks for itself.
      if (isIP(before) === 0) break;
      address = before;
      if (!trusts(address)) break;
    }
    return networkOf(address);
  };
}

/** Whether a connection comes from a trusted proxy, by its address. */
export function isTrustedProxy(trusted: BlockList, remoteAddress: string | undefined): boolean {
  return isAmong(trusted, remoteAddress);
}

/** Whether an address is one of these, also where a socket for both kinds tells IPv4 as IPv6. */
export function isAmong(addresses: BlockList, remoteAddress: string | undefined): boolean {
  const address = plain(remoteAddress ?? "");
  return address !== "" && addresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function createTrust(trusted: BlockList): (address: string | undefined) => boolean {
  // Most services have no proxy before them, and a check takes longer than all else here.
  return trusted.rules.length === 0 ? () => false : (address) => isTrustedProxy(trusted, address);
}

/** What a proxy adds to the requests of others. A client that adds it itself only loses. */
const FORWARDING = ["x-forwarded-for", "forwarded", "via"] as const;

/** Those of a request's headers that say for whom it was sent. */
export function forwardingOf(headers: ReadonlyMap<string, string>): IncomingHttpHeaders {
  return Object.fromEntries(FORWARDING.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : [])));
}

/**
 * The connection of a request, where it is the client's own: a proxy's is shared by many clients.
 */
export type ConnectionOf = (sender: Sender) => object | null;

export function createConnectionReader(trusted: BlockList): ConnectionOf {
  const trusts = createTrust(trusted);
  return ({ socket, headers }) => {
    if (FORWARDING.some((name) => headers[name] !== undefined)) return null;
    return trusts(socket.remoteAddress) ? null : socket;
  };
}

/** Whether a request comes from this machine itself, and is not passed on for others. */
export function isFromLoopback({ socket, headers }: Sender): boolean {
  if (FORWARDING.some((name) => headers[name] !== undefined)) return false;
  const address = plain(socket.remoteAddress ?? "");
  return address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/**
 * Where guesses are counted: an IPv4 address, or the 48 bits of IPv6 that a site gets, with all
 * networks of 64 bits in it.
 * @param address as {@link AddressOf} gives it
 */
export function guessNetworkOf(address: string): string {
  const [, site] = /^((?:[^:]+:){3})[^:]+::\/64$/.exec(address) ?? [];
  return site === undefined ? address : `${site}:/48`;
}

/** Some proxies write the port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return /^\[(.*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry;
}

/** IPv4 in IPv6, as RFC 4291 §2.5.5.2 has it, or in groups like any other. */
const MAPPED = /^(?:::|(?:0{1,4}:){5})ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i;

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}

/** IPv4 as IPv4, also where a socket for both tells it as IPv6; and without the zone of a link. */
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
  // An IPv4 address at the end stands for two groups.
  const groups = before.length + after.length + (address.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups) }, () => "0");
  const first = [...before, ...zeros, ...after].slice(0, 4);
  return `${first.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
