import test from "ava";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { parseForm } from "../../../src/http/form.ts";
import { validateVisit } from "../../../src/ingest/posting/validated-visit.ts";

function read(form: string) {
  return validateVisit(parseForm(form), DEFAULT_LIMITS);
}

test("user, e-mail and page are read as posted, and the last two are optional", (t) => {
  const full = read("apikey=x&user=Ann+%C3%85&email=ann%40example.org&page=%2Fcart");
  t.deepEqual(full, { kind: "valid", valid: { user: "Ann Å", email: "ann@example.org", page: "/cart" } });
  t.deepEqual(read("user=ann&email=&text=ignored"), { kind: "valid", valid: { user: "ann", email: "", page: "" } });
});

for (const [form, faults] of [
  ["email=ann%40example.org", ["user is missing or blank, it must identify the user"]],
  ["user=%20%0a", ["user is missing or blank, it must identify the user"]],
  [`user=${"u".repeat(201)}`, ["user has 201 characters, at most 200 are allowed"]],
  [
    `user=&email=${"e".repeat(255)}&page=${"%F0%9F%98%80".repeat(DEFAULT_LIMITS.page + 1)}`,
    [
      "email has 255 characters, at most 254 are allowed",
      `page has ${DEFAULT_LIMITS.page + 1} characters, at most ${DEFAULT_LIMITS.page} are allowed`,
      "user is missing or blank, it must identify the user",
    ],
  ],
] as const) {
  test(`bad information: ${form.slice(0, 40)}`, (t) => {
    t.deepEqual(read(form), { kind: "bad", faults });
  });
}

test("a character is a code point", (t) => {
  t.is(read(`user=${"%F0%9F%98%80".repeat(200)}`).kind, "valid");
});
