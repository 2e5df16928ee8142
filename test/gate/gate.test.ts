import type { IncomingMessage } from "node:http";
import test from "ava";

import { LoggiaError } from "../../src/errors.ts";
import { createGate, DEFAULT_RATES } from "../../src/gate/gate.ts";
import type { Gate, Refusal } from "../../src/gate/gate.ts";

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

/** Tries a wrong secret, as callers of the gate do. */
function guess(gate: Gate, address: string, secret: string): void {
  const fingerprint = gate.fingerprint(secret);
  gate.beforeCheck(address, fingerprint);
  gate.failed(address, fingerprint);
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
  for (let i = 0; i < 10; i++) gate.passed(`192.0.2.${i}`, "key", "key");
  t.throws(() => gate.passed("192.0.2.99", "key", "key"), { message: /with these credentials/ });
  t.notThrows(() => gate.passed("192.0.2.99", "other", "other"));
});

test("all at once: what is let in is counted as by the steps, and what is not is not counted", (t) => {
  const { gate } = gateAt();
  for (let i = 0; i < 10; i++) t.true(gate.admit(from("192.0.2.1"), "id", "key"));
  t.false(gate.admit(from("192.0.2.1"), "id", "key"), "the key has no more");
  for (let i = 0; i < 10; i++) t.notThrows(() => gate.enter(from("192.0.2.1")));
  t.throws(() => gate.enter(from("192.0.2.1")), { message: /from your address/ });
  t.false(gate.admit(from("192.0.2.1"), "other", "other"), "nor has the address");
  t.true(gate.admit(from("192.0.2.2"), "other", "other"));
  for (let i = 0; i < 20; i++) guess(gate, "192.0.2.3", `guess ${i}`);
  t.false(gate.admit(from("192.0.2.3"), "third", "third"), "new where somebody guesses");
  gate.passed("192.0.2.3", "fourth", "fourth");
  for (let i = 0; i < 20; i++) t.throws(() => guess(gate, "192.0.2.3", `more ${i}`));
  t.true(gate.admit(from("192.0.2.3"), "fourth", "fourth"), "right there before");
});

test("twenty guesses, and no more within the minute", (t) => {
  const { gate, pass } = gateAt();
  for (let i = 0; i < 20; i++) guess(gate, "192.0.2.1", `guess ${i}`);
  const error = t.throws(() => guess(gate, "192.0.2.1", "guess 20"), { instanceOf: LoggiaError });
  t.deepEqual([error.status, error.retryAfter_s], [429, 3]);
  t.notThrows(() => guess(gate, "192.0.2.2", "guess 20"));
  pass(3);
  guess(gate, "192.0.2.1", "guess 21");
  t.throws(() => guess(gate, "192.0.2.1", "guess 22"));
});

test("a right secret that is new there waits as a wrong one does; one that was right before passes", (t) => {
  const { gate } = gateAt();
  gate.passed("192.0.2.1", "known", "key");
  for (let i = 0; i < 20; i++) guess(gate, "192.0.2.1", `guess ${i}`);
  t.notThrows(() => gate.beforeCheck("192.0.2.1", "known"));
  t.throws(() => gate.beforeCheck("192.0.2.1", "right, but new here"));
  t.throws(() => gate.beforeCheck("192.0.2.1", null));
  t.notThrows(() => gate.beforeCheck("192.0.2.2", "right, but new here"));
});

test("guesses at the same moment are paid for afterwards", (t) => {
  const { gate, pass } = gateAt();
  const secrets = Array.from({ length: 60 }, (_, i) => gate.fingerprint(`guess ${i}`));
  for (const secret of secrets) gate.beforeCheck("192.0.2.1", secret);
  for (const secret of secrets) gate.failed("192.0.2.1", secret);
  pass(119);
  t.throws(() => gate.beforeCheck("192.0.2.1", "next"));
  pass(5);
  t.notThrows(() => gate.beforeCheck("192.0.2.1", "next"));
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
  t.is(one.fingerprint("secret"), one.fingerprint("secret"));
  t.not(one.fingerprint("secret"), other.fingerprint("secret"));
});
