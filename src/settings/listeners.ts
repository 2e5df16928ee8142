import { BlockList } from "node:net";

import { StartError } from "../errors.ts";
import { type LogKey, parseLogKey } from "../events/event.ts";
import { splitTags } from "../events/tags.ts";
import { parseZone } from "../query/zone.ts";
import type { Zone } from "../query/zone.ts";
import { addNetwork, readAddress } from "./values.ts";
import type { Address } from "./values.ts";

export type Transport = "tcp" | "udp";

/** A socket that producers send to, with the routes to logs. */
export type SocketSettings = Address & {
  readonly transport: Transport;
  /** In the order of the setting. The first that matches applies. */
  readonly routes: readonly RouteSettings[];
};

/** Route from senders to a log. */
export type RouteSettings = {
  /** null: the key in each event selects the log. */
  readonly log: LogKey | null;
  /** Senders; null: all. */
  readonly from: BlockList | null;
  /** Tags added to those of each event. */
  readonly tags: readonly string[];
  /** Time zone of times without one; null: none is set. */
  readonly zone: Zone | null;
  /** Year of times without one; null: the latest year in which the time is not in the future. */
  readonly year: number | null;
  /** Whether messages that are JSON objects are mapped by the names of their fields. */
  readonly json: boolean;
  /** Secret that both sides of a connection must know. */
  readonly sharedKey: string | null;
};

/** Syntax of the addresses of a setting. */
export type SocketSyntax = {
  readonly transports: readonly Transport[];
  /** How addresses name logs; null: the setting is one `host:port`, and keys select the logs. */
  readonly routes: RouteSyntax | null;
};

export type RouteSyntax = {
  /** Parameters beside `from` and `tags`. */
  readonly parameters: readonly ("zone" | "year" | "json" | "shared_key")[];
  /** Whether events can contain a key, so that an address needs no log. */
  readonly keyed: boolean;
  readonly example: string;
};

/** The sockets that producers send to, by the name of their protocol. */
export type ListenerSettings = Readonly<Record<string, readonly SocketSettings[]>>;

const ADDRESS = /^(tcp|udp):\/\/([^/?#@]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/**
 * Parses the sockets of a setting such as `tcp://127.0.0.1:514/log?from=10.0.0.0/8`. Entries are
 * separated by commas or blanks, and those with the same address share one socket.
 * @throws StartError
 */
export function readSockets(
  name: string,
  value: string,
  { transports, routes: syntax }: SocketSyntax,
): readonly SocketSettings[] {
  if (syntax === null) {
    return value === "" ? [] : transports.map((transport) => ({ ...readAddress(name, value), transport, routes: [] }));
  }
  const sockets = new Map<string, SocketSettings & { readonly routes: RouteSettings[] }>();
  for (const entry of value.split(/[\s,]+/u).filter((part) => part !== "")) {
    const [, transport = "", host = "", path = "", query = ""] = ADDRESS.exec(entry) ?? [];
    const known = transports.find((one) => one === transport);
    if (known === undefined) {
      const schemes = transports.map((one) => `${one}://`).join(" or ");
      throw wrongEntry(name, entry, `addresses such as ${syntax.example}, which begin with ${schemes}`);
    }
    const address = readAddress(name, host);
    const route = readRoute(name, entry, path, new URLSearchParams(query), syntax);
    const place = `${transport} ${address.host} ${address.port}`;
    const socket = sockets.get(place) ?? { ...address, transport: known, routes: [] };
    sockets.set(place, socket);
    socket.routes.push(route);
  }
  return [...sockets.values()];
}

function readRoute(
  name: string,
  entry: string,
  path: string,
  query: URLSearchParams,
  syntax: RouteSyntax,
): RouteSettings {
  const allowed: readonly string[] = ["from", "tags", ...syntax.parameters];
  for (const parameter of query.keys()) {
    if (!allowed.includes(parameter)) throw wrongEntry(name, entry, `the parameters ${allowed.join(", ")}`);
  }
  const log = path === "" ? null : parseLogKey(path);
  if (log === null && (path !== "" || !syntax.keyed)) {
    throw wrongEntry(name, entry, `the key of a log after the port, as in ${syntax.example}`);
  }
  return {
    log,
    from: readSenders(name, entry, query.getAll("from")),
    tags: splitTags(query.getAll("tags").join(" ")),
    zone: readZone(name, entry, query.get("zone")),
    year: readYear(name, entry, query.get("year")),
    json: readSwitch(name, entry, query.get("json")),
    sharedKey: readSharedKey(name, entry, query.get("shared_key")),
  };
}

function readSenders(name: string, entry: string, given: readonly string[]): BlockList | null {
  if (given.length === 0) return null;
  const senders = new BlockList();
  for (const sender of given) {
    if (!addNetwork(senders, sender))
      throw wrongEntry(name, entry, "addresses and networks such as from=10.0.0.1 and from=10.0.0.0/8");
  }
  return senders;
}

function readZone(name: string, entry: string, zone: string | null): Zone | null {
  if (zone === null) return null;
  try {
    return parseZone(zone);
  } catch (error) {
    const allowed = "a zone such as zone=Europe/Berlin, or hours east of UTC";
    throw new StartError(wrongEntry(name, entry, allowed).message, { cause: error });
  }
}

function readYear(name: string, entry: string, year: string | null): number | null {
  if (year === null) return null;
  if (!/^(?:19|20|21)\d\d$/.test(year)) throw wrongEntry(name, entry, "a year such as year=2026");
  return Number(year);
}

function readSwitch(name: string, entry: string, value: string | null): boolean {
  if (value !== null && value !== "on" && value !== "off") throw wrongEntry(name, entry, "json=on or json=off");
  return value === "on";
}

const SHARED_KEY_MIN = 8;

function readSharedKey(name: string, entry: string, key: string | null): string | null {
  if (key === null) return null;
  if (key.length < SHARED_KEY_MIN) throw wrongEntry(name, entry, `a key of ${SHARED_KEY_MIN} characters or more`);
  return key;
}

/** Creates the error for an invalid entry, without the shared key, which is a secret. */
function wrongEntry(name: string, entry: string, allowed: string): StartError {
  const shown = entry.replace(/shared_key=[^&]*/gu, "shared_key=…");
  return new StartError(`${name} holds ${JSON.stringify(shown)}; allowed: ${allowed}`);
}
