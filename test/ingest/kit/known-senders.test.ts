import test from "ava";

import { KnownSenders } from "../../../src/ingest/kit/known-senders.ts";
import { memoryNetwork } from "../../../src/ratelimit/address.ts";

test("a sender is known for one hook, for a day after its last right signature, and at most 10,000 are", (t) => {
  let now_ms = 0;
  const senders = new KnownSenders(() => now_ms);
  senders.add("shop hook github", "192.0.2.0/24");
  t.true(senders.has("shop hook github", "192.0.2.0/24"));
  t.false(senders.has("shop hook github", "198.51.100.0/24"));
  t.false(senders.has("other hook github", "192.0.2.0/24"));
  now_ms = 86_400_000;
  t.false(senders.has("shop hook github", "192.0.2.0/24"));
  senders.add("shop hook github", "192.0.2.0/24");
  for (let n = 0; n < 10_000; n++) senders.add("other hook github", String(n));
  t.false(senders.has("shop hook github", "192.0.2.0/24"));
  t.true(senders.has("other hook github", "0"));
});

test("memory counts for a network, which one party usually holds", (t) => {
  t.deepEqual(["192.0.2.7", "::ffff:192.0.2.7", "2001:db8:1:2::/64", "2001:db8:1:2::7", ""].map(memoryNetwork), [
    "192.0.2.0/24",
    "192.0.2.0/24",
    "2001:db8:1::/48",
    "2001:db8:1::/48",
    "",
  ]);
});
