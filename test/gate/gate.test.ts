import type { IncomingMessage } from "node:http";
import test from "ava";

import { drawApiKey } from "../../src/catalog/secrets.ts";
import { LoggiaError } from "../../src/errors.ts";
import { createGate, DEFAULT_RATES } from "../../src/gate/gate.ts";
import type { Gate, Refusal } from "../../src/gate/gate.ts";
import type { Place } from "../../src/gate/guesses.ts";

function gateAt() {
  let ms = 0;
  const refusals: Refusal[] = [];
  const gate = createGate({
    rates: { ...DEFAULT_RATES, address: 10, caller: 5, failures: 20 },
    refused: (reason) => refusals.push(reason),
    now: () => ms,
  });
  return { gate, refusals, pass: (s: number) => void (ms += 1000 * s) };
}

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} }) as unknown as IncomingMessage;

/** A connection of its own from there. */
const placeAt = (address: string): Place => ({ address, connection: {} });

/** Tries a wrong key of an operator's choice, as callers of the gate do. */
function guess(gate: Gate, address: string, secret: string): void {
  const place = placeAt(address);
  gate.beforeKey(place, secret, () => undefined);
  gate.wrongKey(place, secret);
}

test("an address has its requests, and is told when there are more", (t) => {
  const { gate, refusals, pass } = gateAt();
  for (let i = 0; i < 20; i++) t.is(gate.enter(from("192.0.2.1")), "192.0.2.1");
  const error = t.throws(() => gate.enter(from("192.0.2.1")), { instanceOf: LoggiaError });
  t.deepEqual([error.status, error.retryAfter_s], [429, 1]);
  t.deepEqual(refusals, ["address"]);
  t.notThrows(() => gate.enter(from("192.0.2.2")));
  pass(0.1);
  t.notThrows(() => gate.enter(from("192.0.2.1")));
});

test("a caller has requests too, from wherever they come", (t) => {
  const { gate } = gateAt();
  for (let i = 0; i < 10; i++) gate.rightKey(placeAt(`192.0.2.${i}`), "secret", "id", "key");
  const message = /with these credentials/;
  t.throws(() => gate.rightKey(placeAt("192.0.2.99"), "secret", "id", "key"), { message });
  t.notThrows(() => gate.rightKey(placeAt("192.0.2.99"), "other", "other", "other"));
  const pair = gate.pairOf("account/ann@example.org", "correct horse");
  for (let i = 0; i < 10; i++) gate.rightPair(placeAt("192.0.2.1"), pair, "ann");
  t.throws(() => gate.rightPair(placeAt("192.0.2.1"), pair, "ann"), { message });
});

test("all at once: what is let in is counted as by the steps, and what is not is not counted", (t) => {
  const { gate } = gateAt();
  for (let i = 0; i < 10; i++) t.true(gate.admit(from("192.0.2.1"), "secret", "id", "key"));
  t.false(gate.admit(from("192.0.2.1"), "secret", "id", "key"), "the key has no more");
  for (let i = 0; i < 10; i++) t.notThrows(() => gate.enter(from("192.0.2.1")));
  t.throws(() => gate.enter(from("192.0.2.1")), { message: /from your address/ });
  t.false(gate.admit(from("192.0.2.1"), "other", "other", "other"), "nor has the address");
  t.true(gate.admit(from("192.0.2.2"), "other", "other", "other"));
});

test("beside guesses a chosen key goes on on its own connection, and a drawn one anywhere", (t) => {
  const { gate } = gateAt();
  const mine = from("192.0.2.3");
  t.true(gate.admit(mine, "chosen key", "id", "key"));
  for (let i = 0; i < 20; i++) guess(gate, "192.0.2.3", `guess ${i}`);
  t.throws(() => guess(gate, "192.0.2.3", "guess 20"));
  t.true(gate.admit(mine, "chosen key", "id", "key"));
  t.false(gate.admit(mine, "other key", "another", "key"), "another one was not right here");
  t.false(gate.admit(from("192.0.2.3"), "chosen key", "id", "key"), "another connection is not told");
  t.true(gate.admit(from("192.0.2.3"), drawApiKey(), "drawn", "drawn"));
});

test("wrong keys of the drawn form lock nobody out", (t) => {
  const { gate } = gateAt();
  for (let i = 0; i < 100; i++) guess(gate, "192.0.2.1", drawApiKey());
  t.notThrows(() => guess(gate, "192.0.2.1", "chosen key"));
});

test("twenty guesses, and no more within the minute", (t) => {
  const { gate, refusals, pass } = gateAt();
  for (let i = 0; i < 20; i++) guess(gate, "192.0.2.1", `guess ${i}`);
  const error = t.throws(() => guess(gate, "192.0.2.1", "guess 20"), { instanceOf: LoggiaError });
  t.deepEqual([error.status, error.retryAfter_s], [429, 3]);
  t.deepEqual(refusals, ["failures"]);
  t.notThrows(() => guess(gate, "192.0.2.2", "guess 20"));
  pass(3);
  guess(gate, "192.0.2.1", "guess 21");
  t.throws(() => guess(gate, "192.0.2.1", "guess 22"));
});

test("guesses at the same moment are paid for afterwards", (t) => {
  const { gate, pass } = gateAt();
  const secrets = Array.from({ length: 60 }, (_, i) => `guess ${i}`);
  const place = placeAt("192.0.2.1");
  const isRefused = () => t.throws(() => gate.beforeKey(place, "next", () => undefined));
  for (const secret of secrets) gate.beforeKey(place, secret, () => undefined);
  for (const secret of secrets) gate.wrongKey(place, secret);
  pass(119);
  isRefused();
  pass(5);
  t.notThrows(() => gate.beforeKey(place, "next", () => undefined));
});

test("a client that keeps an old password is held back later than one that guesses", (t) => {
  const { gate } = gateAt();
  for (let i = 0; i < 90; i++) guess(gate, "192.0.2.1", "the old one");
  t.throws(() => {
    for (let i = 0; i < 10; i++) guess(gate, "192.0.2.1", "the old one");
  });
});

test("fingerprints are of one process, and tell nothing", (t) => {
  const [one, other] = [createGate(), createGate()];
  const pairOf = (gate: Gate) => gate.pairOf("account/ann@example.org", "correct horse");
  t.deepEqual(pairOf(one), pairOf(one));
  t.not(pairOf(one).pair, pairOf(other).pair);
  t.not(pairOf(one).account, pairOf(other).account);
});
