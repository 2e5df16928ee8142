import test from "ava";

import type { KeyGrant } from "../../../src/auth/principals.ts";
import { GuessLimiter } from "../../../src/auth/requests/guess-limiter.ts";
import { authorizeFromMemory, authorizePost } from "../../../src/auth/requests/posting-key.ts";
import { generateApiKey } from "../../../src/auth/secrets.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import type { UserId } from "../../../src/events/event.ts";
import { createRateLimiter, DEFAULT_RATES } from "../../../src/ratelimit/rate-limiter.ts";

const SHOP = parseLogKey("shop")!;
const GENERATED = generateApiKey();
const KEYS: Readonly<Record<string, KeyGrant>> = {
  "chosen key": { log: SHOP, id: "1", scope: "write-only", disabled: false },
  "other key": { log: SHOP, id: "2", scope: "read-write", disabled: false },
  "read key": { log: SHOP, id: "3", scope: "read-only", disabled: false },
  [GENERATED]: { log: SHOP, id: "4", scope: "read-write", disabled: false },
};

function prepare(rates: { readonly caller?: number } = {}) {
  const now = (): number => 0;
  const catalog = {
    cachedApiKey: (secret: string) => KEYS[secret] ?? null,
    apiKey: async (secret: string) => KEYS[secret] ?? null,
    ownerOf: () => "a".repeat(16) as UserId,
  };
  const limiter = createRateLimiter({ rates: { ...DEFAULT_RATES, ...rates }, now });
  return { catalog, limiter, guesses: new GuessLimiter({ failures: 20, now }) };
}

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} });

test("a key posts from memory to its own log, if its scope allows it", (t) => {
  const options = prepare();
  t.is(authorizeFromMemory("shop", "chosen key", from("192.0.2.1"), options), SHOP);
  for (const [path, secret] of [
    ["other", "chosen key"],
    ["shop", "read key"],
    ["shop", "unknown"],
    ["shop", ""],
  ] as const) {
    t.is(authorizeFromMemory(path, secret, from("192.0.2.1"), options), null);
  }
});

test("during guesses a chosen key works on its own connection only, and a generated one on any", (t) => {
  const options = prepare();
  const mine = from("192.0.2.3");
  const mayPost = (secret: string, sender: typeof mine) =>
    authorizeFromMemory("shop", secret, sender, options) !== null;
  t.true(mayPost("chosen key", mine));
  for (let i = 0; i < 21; i++) options.guesses.wrongKey({ address: "192.0.2.3", connection: {} }, `guess ${i}`);
  t.true(mayPost("chosen key", mine));
  t.false(mayPost("other key", mine), "another one was not right here");
  t.false(mayPost("chosen key", from("192.0.2.3")), "another connection learns nothing");
  t.true(mayPost(GENERATED, from("192.0.2.3")));
});

test("posts with all keys of an owner count together, from memory or not", async (t) => {
  const options = prepare({ caller: 2 });
  const peer = { address: "192.0.2.9", connection: {} };
  for (const secret of ["chosen key", GENERATED]) {
    t.is(authorizeFromMemory("shop", secret, from("192.0.2.1"), options), SHOP);
    t.is((await authorizePost("shop", secret, peer, options)).log, SHOP);
  }
  t.is(authorizeFromMemory("shop", "chosen key", from("192.0.2.1"), options), null);
  await t.throwsAsync(authorizePost("shop", "chosen key", peer, options), { code: "too_many_requests" });
});
