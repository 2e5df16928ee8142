import type { IncomingMessage } from "node:http";
import { BlockList } from "node:net";
import test from "ava";

import { createAddressReader } from "../../src/ratelimit/address.ts";

const PROXIES = new BlockList();
PROXIES.addAddress("10.0.0.1");
PROXIES.addSubnet("10.1.0.0", 16);
PROXIES.addSubnet("fd00::", 8, "ipv6");

function request(remoteAddress: string | undefined, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage;
}

const TRUSTING = createAddressReader(PROXIES);
const TRUSTING_NOBODY = createAddressReader(new BlockList());

test("no forwarded address is trusted by default", (t) => {
  t.is(TRUSTING_NOBODY(request("192.0.2.7", "198.51.100.1")), "192.0.2.7");
  t.is(TRUSTING(request("192.0.2.7", "198.51.100.1")), "192.0.2.7");
});

const FORWARDED: readonly [remote: string, forwarded: string | undefined, address: string][] = [
  ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
  // Entries made up by the client are on the left.
  ["10.0.0.1", "203.0.113.66, 198.51.100.1", "198.51.100.1"],
  ["10.0.0.1", "203.0.113.66,198.51.100.1 , 10.1.2.3", "198.51.100.1"],
  ["fd00::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
  ["10.0.0.1", "::ffff:c633:6401", "198.51.100.1"],
  ["10.0.0.1", "0:0:0:0:0:FFFF:c633:6401", "198.51.100.1"],
  ["10.0.0.1", "198.51.100.7, ::ffff:a00:1", "198.51.100.7"],
  ["10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
  ["10.0.0.1", "[2001:db8::1]:4711", "2001:db8:0:0::/64"],
  // A proxy behind a proxy, without a client.
  ["10.0.0.1", "10.1.0.9", "10.1.0.9"],
  ["10.0.0.1", undefined, "10.0.0.1"],
  ["10.0.0.1", "", "10.0.0.1"],
  ["10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"],
  ["10.0.0.1", "198.51.100.1, , 10.1.0.9", "10.1.0.9"],
  ["10.0.0.1", "not an address", "10.0.0.1"],
];

for (const [remote, forwarded, address] of FORWARDED) {
  test(`${remote} for ${JSON.stringify(forwarded)} is ${address}`, (t) => {
    t.is(TRUSTING(request(remote, forwarded)), address);
  });
}

const of = (address: string) => TRUSTING_NOBODY(request(address));

test("an IPv6 network counts as one client, however its addresses are written", (t) => {
  t.is(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff:ffff:ffff:ffff"));
  t.is(of("2001:0DB8:0000:0001::5"), of("2001:db8:0:1::1"));
  t.not(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
  t.is(of("::1"), "0:0:0:0::/64");
  t.is(of("fe80::1%eth0"), "fe80:0:0:0::/64");
  t.is(of("1::"), "1:0:0:0::/64");
});

test("a closed connection still has an address", (t) => {
  t.is(TRUSTING(request(undefined, "198.51.100.1")), "");
});
