import type { IncomingMessage } from "node:http";
import test from "ava";

import { generateApiKey } from "../../src/auth/secrets.ts";
import { LoggiaError } from "../../src/errors.ts";
import { createRateLimiter, DEFAULT_RATES } from "../../src/ratelimit/rate-limiter.ts";
import type { RateLimiter, Refusal } from "../../src/ratelimit/rate-limiter.ts";
import type { Peer } from "../../src/auth/requests/guesses.ts";

function gateAt() {
  let ms = 0;
  const refusals: Refusal[] = [];
  const limiter = createRateLimiter({
    rates: { ...DEFAULT_RATES, address: 10, caller: 5, failures: 20 },
    refused: (reason) => refusals.push(reason),
    now: () => ms,
  });
  return { limiter, refusals, pass: (s: number) => void (ms += 1000 * s) };
}

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} }) as unknown as IncomingMessage;

/** A connection of its own from the given address. */
const placeAt = (address: string): Peer => ({ address, connection: {} });

/** Tries a wrong key chosen by an operator, as callers of the rate limiter do. */
function guess(limiter: RateLimiter, address: string, secret: string): void {
  const peer = placeAt(address);
  limiter.beforeKey(peer, secret, () => undefined);
  limiter.wrongKey(peer, secret);
}

test("requests are limited per address, with the time to retry", (t) => {
  const { limiter, refusals, pass } = gateAt();
  for (let i = 0; i < 20; i++) t.is(limiter.enter(from("192.0.2.1")), "192.0.2.1");
  const error = t.throws(() => limiter.enter(from("192.0.2.1")), { instanceOf: LoggiaError });
  t.deepEqual([error.status, error.retryAfter_s], [429, 1]);
  t.deepEqual(refusals, ["address"]);
  t.notThrows(() => limiter.enter(from("192.0.2.2")));
  pass(0.1);
  t.notThrows(() => limiter.enter(from("192.0.2.1")));
});

test("requests are limited per caller, from any address", (t) => {
  const { limiter } = gateAt();
  for (let i = 0; i < 10; i++) limiter.rightKey(placeAt(`192.0.2.${i}`), "secret", "id", "key");
  const message = /with these credentials/;
  t.throws(() => limiter.rightKey(placeAt("192.0.2.99"), "secret", "id", "key"), { message });
  t.notThrows(() => limiter.rightKey(placeAt("192.0.2.99"), "other", "other", "other"));
  const pair = limiter.pairOf("account/ann@example.org", "correct horse");
  for (let i = 0; i < 10; i++) limiter.rightPair(placeAt("192.0.2.1"), pair, "ann");
  t.throws(() => limiter.rightPair(placeAt("192.0.2.1"), pair, "ann"), { message });
});

test("the combined check counts an admitted request like the single steps, and a refused one not at all", (t) => {
  const { limiter } = gateAt();
  for (let i = 0; i < 10; i++) t.true(limiter.admit(from("192.0.2.1"), "secret", "id", "key"));
  t.false(limiter.admit(from("192.0.2.1"), "secret", "id", "key"), "the key has no more");
  for (let i = 0; i < 10; i++) t.notThrows(() => limiter.enter(from("192.0.2.1")));
  t.throws(() => limiter.enter(from("192.0.2.1")), { message: /from your address/ });
  t.false(limiter.admit(from("192.0.2.1"), "other", "other", "other"), "nor has the address");
  t.true(limiter.admit(from("192.0.2.2"), "other", "other", "other"));
});

test("during guesses a chosen key works on its own connection only, and a generated one on any", (t) => {
  const { limiter } = gateAt();
  const mine = from("192.0.2.3");
  t.true(limiter.admit(mine, "chosen key", "id", "key"));
  for (let i = 0; i < 20; i++) guess(limiter, "192.0.2.3", `guess ${i}`);
  t.throws(() => guess(limiter, "192.0.2.3", "guess 20"));
  t.true(limiter.admit(mine, "chosen key", "id", "key"));
  t.false(limiter.admit(mine, "other key", "another", "key"), "another one was not right here");
  t.false(limiter.admit(from("192.0.2.3"), "chosen key", "id", "key"), "another connection learns nothing");
  t.true(limiter.admit(from("192.0.2.3"), generateApiKey(), "drawn", "drawn"));
});

test("wrong keys in the form of generated ones lock nobody out", (t) => {
  const { limiter } = gateAt();
  for (let i = 0; i < 100; i++) guess(limiter, "192.0.2.1", generateApiKey());
  t.notThrows(() => guess(limiter, "192.0.2.1", "chosen key"));
});

test("allows twenty guesses and no more within a minute", (t) => {
  const { limiter, refusals, pass } = gateAt();
  for (let i = 0; i < 20; i++) guess(limiter, "192.0.2.1", `guess ${i}`);
  const error = t.throws(() => guess(limiter, "192.0.2.1", "guess 20"), { instanceOf: LoggiaError });
  t.deepEqual([error.status, error.retryAfter_s], [429, 3]);
  t.deepEqual(refusals, ["failures"]);
  t.notThrows(() => guess(limiter, "192.0.2.2", "guess 20"));
  pass(3);
  guess(limiter, "192.0.2.1", "guess 21");
  t.throws(() => guess(limiter, "192.0.2.1", "guess 22"));
});

test("concurrent guesses are charged afterwards", (t) => {
  const { limiter, pass } = gateAt();
  const secrets = Array.from({ length: 60 }, (_, i) => `guess ${i}`);
  const peer = placeAt("192.0.2.1");
  const isRefused = () => t.throws(() => limiter.beforeKey(peer, "next", () => undefined));
  for (const secret of secrets) limiter.beforeKey(peer, secret, () => undefined);
  for (const secret of secrets) limiter.wrongKey(peer, secret);
  pass(119);
  isRefused();
  pass(5);
  t.notThrows(() => limiter.beforeKey(peer, "next", () => undefined));
});

test("a client with an old password is limited later than one that guesses", (t) => {
  const { limiter } = gateAt();
  for (let i = 0; i < 90; i++) guess(limiter, "192.0.2.1", "the old one");
  t.throws(() => {
    for (let i = 0; i < 10; i++) guess(limiter, "192.0.2.1", "the old one");
  });
});

test("fingerprints belong to one process and reveal nothing", (t) => {
  const [one, other] = [createRateLimiter(), createRateLimiter()];
  const pairOf = (limiter: RateLimiter) => limiter.pairOf("account/ann@example.org", "correct horse");
  t.deepEqual(pairOf(one), pairOf(one));
  t.not(pairOf(one).pair, pairOf(other).pair);
  t.not(pairOf(one).account, pairOf(other).account);
});
