import { isIPv4 } from "node:net";

/**
 * The value of a network in the database: anything that the format's maps, strings and doubles can
 * hold.
 */
type Value = string | number | { readonly [name: string]: Value };

export type MmdbOptions = {
  readonly ipVersion?: 4 | 6;
  /** Size of a record of the search tree, in bits. */
  readonly recordSize?: 24 | 28 | 32;
  readonly type?: string;
};

/**
 * Builds a database in MaxMind's format (https://maxmind.github.io/MaxMind-DB/), version 2.0, with
 * a value for each network such as `203.0.113.0/24`. In an IPv6 database, IPv4 networks are below
 * `::/96`.
 */
export function mmdb(
  networks: Readonly<Record<string, Value>>,
  { ipVersion = 6, recordSize = 24, type = "GeoLite2-City" }: MmdbOptions = {},
): Buffer {
  type Node = [Branch, Branch];
  type Branch = { readonly node: number } | { readonly data: number } | null;
  const nodes: Node[] = [[null, null]];
  const values: Buffer[] = [];
  let data_bytes = 0;
  for (const [network, value] of Object.entries(networks)) {
    const bits = bitsOf(network, ipVersion);
    let at = nodes[0]!;
    for (const bit of bits.slice(0, -1)) {
      const next = at[bit];
      if (next === null) {
        at[bit] = { node: nodes.length };
        nodes.push((at = [null, null]));
      } else if ("node" in next) at = nodes[next.node]!;
      else throw new Error(`${network} lies within another network`);
    }
    at[bits.at(-1)!] = { data: data_bytes };
    values.push(encode(value));
    data_bytes += values.at(-1)!.length;
  }
  const numberOf = (branch: Branch): number =>
    branch === null ? nodes.length : "node" in branch ? branch.node : nodes.length + 16 + branch.data;
  const tree = nodes.map(([left, right]) => encodeNode(numberOf(left), numberOf(right), recordSize));
  const metadata = {
    node_count: uint32(nodes.length),
    record_size: uint32(recordSize),
    ip_version: uint32(ipVersion),
    database_type: encode(type),
    binary_format_major_version: uint32(2),
    binary_format_minor_version: uint32(0),
    build_epoch: uint32(1_700_000_000),
    languages: Buffer.from([0x00, 0x04]),
    description: encode({}),
  };
  const mark = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
  return Buffer.concat([...tree, Buffer.alloc(16), ...values, mark, encodeMap(metadata)]);
}

function bitsOf(network: string, ipVersion: 4 | 6): (0 | 1)[] {
  const [address = "", length = ""] = network.split("/");
  const v4 = isIPv4(address);
  const bytes = v4 ? address.split(".").map(Number) : bytesOfV6(address);
  const prefix = v4 && ipVersion === 6 ? Array.from({ length: 96 }, () => 0 as const) : [];
  const bits = bytes.flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((i) => ((byte >> i) & 1) as 0 | 1));
  return [...prefix, ...bits.slice(0, Number(length))];
}

function bytesOfV6(address: string): number[] {
  const [head = "", tail = ""] = address.split("::");
  const [left, right] = [words(head), words(tail)];
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
  return all.flatMap((word) => [word >> 8, word & 0xff]);
}

function words(part: string): number[] {
  return part === "" ? [] : part.split(":").map((word) => parseInt(word, 16));
}

function encodeNode(left: number, right: number, recordSize: 24 | 28 | 32): Buffer {
  const node = Buffer.alloc(recordSize / 4);
  if (recordSize === 32) {
    node.writeUInt32BE(left, 0);
    node.writeUInt32BE(right, 4);
    return node;
  }
  node.writeUIntBE(left & 0xffffff, 0, 3);
  node.writeUIntBE(right & 0xffffff, node.length - 3, 3);
  // The middle byte holds the highest four bits of both records.
  if (recordSize === 28) node[3] = ((left >>> 24) << 4) | (right >>> 24);
  return node;
}

const STRING = 2;
const DOUBLE = 3;
const UINT32 = 6;
const MAP = 7;

function encode(value: Value): Buffer {
  if (typeof value === "string") {
    const bytes = Buffer.from(value, "utf8");
    return Buffer.concat([control(STRING, bytes.length), bytes]);
  }
  if (typeof value === "number") {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return Buffer.concat([control(DOUBLE, 8), bytes]);
  }
  return encodeMap(Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, encode(inner)])));
}

function encodeMap(values: Readonly<Record<string, Buffer>>): Buffer {
  const entries = Object.entries(values);
  return Buffer.concat([control(MAP, entries.length), ...entries.flatMap(([name, value]) => [encode(name), value])]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return Buffer.concat([control(UINT32, 4), bytes]);
}

/** Encodes the control byte with type and length; lengths from 29 on take one more byte. */
function control(type: number, length: number): Buffer {
  if (length > 284) throw new Error("longer than this writer can say");
  return Buffer.from(length < 29 ? [(type << 5) | length] : [(type << 5) | 29, length - 29]);
}
