import test from "ava";
import { argon2Sync } from "node:crypto";

import { createPasswordHasher, unmatchableHash } from "../../../src/auth/passwords/password-hasher.ts";
import { errorStatus, LoggiaError } from "../../../src/errors.ts";

test("a hash is verified by its own password only, and is salted", async (t) => {
  const hasher = createPasswordHasher();
  const stored = await hasher.hash("correct horse");
  t.regex(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  t.true(await hasher.verify("correct horse", stored));
  t.false(await hasher.verify("correct horsf", stored));
  t.false(await hasher.verify("", stored));
  t.not(await hasher.hash("correct horse"), stored);
});

test("a hash is verified with the parameters that it was made with", async (t) => {
  const nonce = Buffer.from("0123456789abcdef");
  const parameters = { message: "correct horse", nonce, parallelism: 2, tagLength: 16, memory: 64, passes: 3 };
  const tag = argon2Sync("argon2id", parameters).toString("base64").replace(/=+$/, "");
  const stored = `$argon2id$v=19$m=64,t=3,p=2$${nonce.toString("base64").replace(/=+$/, "")}$${tag}`;
  const hasher = createPasswordHasher();
  t.true(await hasher.verify("correct horse", stored));
  t.false(await hasher.verify("correct horsf", stored));
});

test("a password matches in any Unicode composition of its letters", async (t) => {
  const hasher = createPasswordHasher();
  t.true(await hasher.verify("Bla\u0308tterteig", await hasher.hash("Bl\u00e4tterteig")));
});

test("a hash of an unknown format is a fault, not a wrong password", async (t) => {
  await t.throwsAsync(createPasswordHasher().verify("correct horse", "plain"), { message: /unknown form/ });
});

test("no password matches the hash of unknown accounts", async (t) => {
  t.false(await createPasswordHasher().verify("", unmatchableHash()));
  t.not(unmatchableHash(), unmatchableHash());
});

test("requests above the queue's limit are told to retry, and the others are answered", async (t) => {
  const hasher = createPasswordHasher();
  const stored = unmatchableHash().replace("m=19456,t=2", "m=64,t=1");
  const results = await Promise.allSettled(
    Array.from({ length: 100 }, (_, i) => {
      const requester = { address: `192.0.2.${i}`, account: `account ${i}`, isKnown: i % 2 === 0 };
      return hasher.verify("correct horse", stored, requester);
    }),
  );
  const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  t.is(refused.length, 34, "2 run and 64 wait");
  t.true(
    refused.every((error) => error instanceof LoggiaError && errorStatus(error) === 503 && error.retryAfter_s === 1),
  );
  t.false(await hasher.verify("correct horse", stored), "places are given back");
});
