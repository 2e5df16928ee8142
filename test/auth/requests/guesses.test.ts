import test from "ava";

import { Guesses } from "../../../src/auth/requests/guesses.ts";
import type { Pair, Peer } from "../../../src/auth/requests/guesses.ts";

const FAILURES = 20;
const ANN = "ann";
const RIGHT: Pair = { account: ANN, pair: "ann, right" };
const HOUR_S = 3_600;

function guessesAt() {
  let ms = 0;
  const guesses = new Guesses({ failures: FAILURES, maxEntries: 100_000, now: () => ms });
  return { guesses, pass: (s: number) => void (ms += 1000 * s) };
}

/** A connection of its own from the given address. */
const placeAt = (address: string): Peer => ({ address, connection: {} });
const siteAt = (i: number) => `198.51.${i >> 8}.${i & 255}`;

let drawn = 0;
const wrongFor = (account: string): Pair => ({ account, pair: `${account}, wrong ${drawn++}` });

/** Tries a wrong pair; false if it is refused. */
function guess(guesses: Guesses, address: string, pair = wrongFor(ANN)): boolean {
  const peer = placeAt(address);
  if (guesses.pairWait_s(peer, pair) > 0) return false;
  guesses.wrongPair(peer, pair);
  return true;
}

const waitOf = (guesses: Guesses, peer: Peer, pair = RIGHT) => guesses.pairWait_s(peer, pair);

test("above the limit a right pair waits as long as a wrong one, wherever else it was right", (t) => {
  const { guesses } = guessesAt();
  const known = placeAt("192.0.2.1");
  guesses.rightPair(known, RIGHT);
  for (const address of ["192.0.2.1", "192.0.2.2"]) {
    while (guess(guesses, address));
    const wait_s = waitOf(guesses, placeAt(address));
    t.true(wait_s > 0);
    t.is(waitOf(guesses, placeAt(address), wrongFor(ANN)), wait_s);
    t.is(waitOf(guesses, { address, connection: null }), wait_s, "nor through a proxy");
  }
  t.is(waitOf(guesses, known), 0, "on the very connection it goes on");
  t.true(waitOf(guesses, known, wrongFor(ANN)) > 0, "another pair does not");
});

test("a connection remembers the last right credentials, and only a few", (t) => {
  const { guesses } = guessesAt();
  const peer = placeAt("192.0.2.1");
  for (let i = 0; i < 9; i++) guesses.rightPair(peer, { account: ANN, pair: `right ${i}` });
  while (guess(guesses, "192.0.2.1"));
  t.true(waitOf(guesses, peer, { account: ANN, pair: "right 0" }) > 0);
  for (let i = 1; i < 9; i++) t.is(waitOf(guesses, peer, { account: ANN, pair: `right ${i}` }), 0);
});

test("guesses at an account are limited in total over all addresses, whether or not it exists", (t) => {
  for (const account of [ANN, "nobody"]) {
    const { guesses, pass } = guessesAt();
    const round = () => {
      let done = 0;
      for (let i = 0; i < 50; i++) {
        for (let j = 0; j < FAILURES; j++) if (guess(guesses, siteAt(i), wrongFor(account))) done += 1;
      }
      return done;
    };
    const first = round();
    t.true(first >= FAILURES && first <= 5 * FAILURES, `${first} guesses at once`);
    pass(60);
    const later = round();
    t.true(later >= FAILURES && later <= 5 * FAILURES, `${later} guesses in a minute`);
  }
});

test("guesses from elsewhere never delay an account at an address where it was right", (t) => {
  const { guesses, pass } = guessesAt();
  guesses.rightPair(placeAt("192.0.2.1"), RIGHT);
  pass(20 * 24 * HOUR_S);
  for (let i = 0; i < 200; i++) while (guess(guesses, siteAt(i)));
  t.true(waitOf(guesses, placeAt("203.0.113.1")) > 0, "strangers' shares are used up");
  t.is(waitOf(guesses, placeAt("192.0.2.1")), 0);
  // A typing error there may use the whole limit of the address.
  t.true(guess(guesses, "192.0.2.1"));
  t.is(waitOf(guesses, placeAt("192.0.2.1")), 0);
});

test("guesses at other accounts from the same address do not delay one that was right there", (t) => {
  const { guesses } = guessesAt();
  guesses.rightPair(placeAt("192.0.2.1"), RIGHT);
  while (guess(guesses, "192.0.2.1", wrongFor("bob")));
  t.true(waitOf(guesses, placeAt("192.0.2.1"), wrongFor("carol")) > 0);
  t.is(waitOf(guesses, placeAt("192.0.2.1")), 0);
});

test("a few addresses that keep guessing leave the first attempt from a new address to the owner", (t) => {
  const { guesses, pass } = guessesAt();
  for (let minute = 0; minute < 30; minute++) {
    for (let i = 0; i < 40; i++) while (guess(guesses, siteAt(i)));
    pass(60);
  }
  for (let i = 0; i < 40; i++) while (guess(guesses, siteAt(i)));
  t.is(waitOf(guesses, placeAt("192.0.2.1")), 0);
});

test("an address is forgotten in time, and an account has only a few", (t) => {
  const { guesses, pass } = guessesAt();
  for (let i = 0; i < 17; i++) {
    guesses.rightPair(placeAt(siteAt(i)), RIGHT);
    pass(120);
  }
  t.false(guesses.isKnown(placeAt(siteAt(0)), ANN));
  t.true(guesses.isKnown(placeAt(siteAt(1)), ANN));
  t.false(guesses.isKnown(placeAt(siteAt(1)), "bob"));
  pass(31 * 24 * HOUR_S);
  t.false(guesses.isKnown(placeAt(siteAt(16)), ANN));
});

test("an IPv6 site has the guesses of one address, however many networks it has", (t) => {
  const { guesses } = guessesAt();
  let done = 0;
  for (let i = 0; i < 100; i++) if (guess(guesses, `2001:db8:7:${i.toString(16)}::/64`, wrongFor(`${i}`))) done += 1;
  t.is(done, FAILURES);
  t.true(guess(guesses, "2001:db8:8:0::/64", wrongFor("other")));
  const key = (address: string) => guesses.keyWait_s(placeAt(address), "chosen key", () => undefined);
  t.true(key("2001:db8:7:ffff::/64") > 0, "keys too");
  t.is(key("2001:db8:9:1::/64"), 0);
});

test("a pair refused for lack of room counts for its account too, because it may have been checked", (t) => {
  const { guesses } = guessesAt();
  for (let i = 0; i < 4 * FAILURES; i++) guesses.refusedPair(placeAt(siteAt(i)), wrongFor(ANN));
  t.true(waitOf(guesses, placeAt("203.0.113.1")) > 0);
  t.is(Math.round(guesses.accountGuesses(RIGHT)), 4 * FAILURES);
  t.is(guesses.accountGuesses(wrongFor("bob")), 0);
});

test("a pair that was right until its password changed is not a guess, for a while", (t) => {
  const { guesses, pass } = guessesAt();
  guesses.rightPair(placeAt("192.0.2.1"), RIGHT);
  guesses.notePassword("set, and changed again before anyone used it");
  const crossing = () => {
    for (let i = 0; i < 500; i++) {
      for (const pair of [RIGHT.pair, "set, and changed again before anyone used it"]) {
        guesses.wrongPair(placeAt("192.0.2.1"), { account: ANN, pair });
      }
    }
    return waitOf(guesses, placeAt("192.0.2.1"), wrongFor(ANN));
  };
  t.is(crossing(), 0);
  pass(601);
  t.true(crossing() > 0);
});
