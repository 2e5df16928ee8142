import test from "ava";

import { GuessLimiter } from "../../../src/auth/requests/guess-limiter.ts";
import type { Peer } from "../../../src/auth/requests/guesses.ts";
import { generateApiKey } from "../../../src/auth/secrets.ts";
import { errorStatus, LoggiaError } from "../../../src/errors.ts";

function gateAt() {
  let ms = 0;
  let refused = 0;
  const guesses = new GuessLimiter({ failures: 20, refused: () => (refused += 1), now: () => ms });
  return { guesses, refused: () => refused, pass: (s: number) => void (ms += 1000 * s) };
}

/** A connection of its own from the given address. */
const placeAt = (address: string): Peer => ({ address, connection: {} });

/** Tries a wrong key chosen by an operator, as its callers do. */
function guess(guesses: GuessLimiter, address: string, secret: string): void {
  const peer = placeAt(address);
  guesses.beforeKey(peer, secret, () => undefined);
  guesses.wrongKey(peer, secret);
}

test("wrong keys in the form of generated ones lock nobody out", (t) => {
  const { guesses } = gateAt();
  for (let i = 0; i < 100; i++) guess(guesses, "192.0.2.1", generateApiKey());
  t.notThrows(() => guess(guesses, "192.0.2.1", "chosen key"));
});

test("allows twenty guesses and no more within a minute", (t) => {
  const { guesses, refused, pass } = gateAt();
  for (let i = 0; i < 20; i++) guess(guesses, "192.0.2.1", `guess ${i}`);
  const error = t.throws(() => guess(guesses, "192.0.2.1", "guess 20"), { instanceOf: LoggiaError });
  t.deepEqual([errorStatus(error), error.retryAfter_s], [429, 3]);
  t.deepEqual(refused(), 1);
  t.notThrows(() => guess(guesses, "192.0.2.2", "guess 20"));
  pass(3);
  guess(guesses, "192.0.2.1", "guess 21");
  t.throws(() => guess(guesses, "192.0.2.1", "guess 22"));
});

test("concurrent guesses are charged afterwards", (t) => {
  const { guesses, pass } = gateAt();
  const secrets = Array.from({ length: 60 }, (_, i) => `guess ${i}`);
  const peer = placeAt("192.0.2.1");
  const isRefused = () => t.throws(() => guesses.beforeKey(peer, "next", () => undefined));
  for (const secret of secrets) guesses.beforeKey(peer, secret, () => undefined);
  for (const secret of secrets) guesses.wrongKey(peer, secret);
  pass(119);
  isRefused();
  pass(5);
  t.notThrows(() => guesses.beforeKey(peer, "next", () => undefined));
});

test("a client with an old password is limited later than one that guesses", (t) => {
  const { guesses } = gateAt();
  for (let i = 0; i < 90; i++) guess(guesses, "192.0.2.1", "the old one");
  t.throws(() => {
    for (let i = 0; i < 10; i++) guess(guesses, "192.0.2.1", "the old one");
  });
});

test("fingerprints belong to one process and reveal nothing", (t) => {
  const [one, other] = [new GuessLimiter(), new GuessLimiter()];
  const fingerprints = (guesses: GuessLimiter) => guesses.pairFor("ann@example.org", "correct horse");
  t.deepEqual(fingerprints(one), fingerprints(one));
  t.not(fingerprints(one).pair, fingerprints(other).pair);
  t.not(fingerprints(one).account, fingerprints(other).account);
});

test("each wrong credential is reported with its address", (t) => {
  const reports: string[] = [];
  const guesses = new GuessLimiter({ wrong: (wrong, address) => reports.push(`${wrong} ${address}`) });
  guesses.wrongPair(placeAt("192.0.2.1"), guesses.pairFor("ann@example.org", "wrong horse"));
  guesses.wrongKey(placeAt("192.0.2.2"), "wrong key");
  guesses.wrongSignature(placeAt("192.0.2.3"), "wrong signature");
  t.deepEqual(reports, ["password 192.0.2.1", "key 192.0.2.2", "key 192.0.2.3"]);
});
