import test from "ava";

import { checkApiKey, checkEmail, checkPassword, foldEmail, isEmail } from "../../src/auth/credential-checks.ts";
import { LoggiaError } from "../../src/errors.ts";
import { holdOfBest_ms } from "../support/turns.ts";

test("checks e-mail addresses", (t) => {
  const long = `${"a".repeat(64)}@${"b".repeat(60)}.${"c".repeat(60)}.${"d".repeat(60)}.example`;
  t.is(Buffer.byteLength(long), 255);
  for (const email of [
    "ann@example.org",
    "Ann.O'Neil+logs@mail.example.co.uk",
    "root@localhost",
    "jörg@müller.example",
    long.slice(1),
  ]) {
    t.is(checkEmail(email), email);
    t.true(isEmail(email));
  }
  for (const email of [
    "",
    "ann",
    "@example.org",
    "ann@",
    "ann@.org",
    "ann@example..org",
    "ann@-example.org",
    "ann@b@example.org",
    "ann o@example.org",
    "a:b@example.org",
    "ann@example.org\n",
    "<ann@example.org>",
    "\ud800@example.org",
    long,
    `${"a".repeat(65)}@example.org`,
  ]) {
    t.throws(
      () => checkEmail(email),
      { instanceOf: LoggiaError, message: /^The field email must be .*ann@example\.org/ },
      email,
    );
  }
  t.is(checkEmail("jo\u0308rg@example.org"), "j\u00f6rg@example.org", "one form for composed and decomposed letters");
  t.is(foldEmail("Jo\u0308rg@Example.org"), foldEmail("j\u00f6rg@example.org"), "one account for all spellings");
});

test("an address that attacks the pattern costs no time", async (t) => {
  const hold_ms = await holdOfBest_ms(100, async () => {
    t.false(isEmail(`a@${"a-".repeat(120)}!`));
    t.false(isEmail(`a@${"a.".repeat(120)}!`));
    t.throws(() => checkEmail("a@".repeat(50_000)));
  });
  t.true(hold_ms < 100, `${hold_ms} ms`);
});

test("passwords have 8 to 200 characters", (t) => {
  for (const password of ["12345678", "x".repeat(200), "😀".repeat(200)]) t.notThrows(() => checkPassword(password));
  for (const password of ["1234567", "", "x".repeat(201), "😀".repeat(201)]) {
    t.throws(() => checkPassword(password), {
      code: "bad_parameter",
      message: "The field password must have 8 to 200 characters",
    });
  }
});

test("a chosen API key is long enough and valid in a URL", (t) => {
  for (const secret of ["12345678", "~!a".repeat(66)]) t.notThrows(() => checkApiKey(secret));
  for (const secret of ["1234567", "with blank", "schlüssel", "x".repeat(201)]) {
    t.throws(() => checkApiKey(secret), { code: "bad_parameter", message: /^The field apiKey must have 8 to 200/ });
  }
});
