import test from "ava";
import fc from "fast-check";
import { isIPv6 } from "node:net";

import { textPattern } from "../../src/events/pattern.ts";

const EXAMPLES: readonly (readonly [text: string, pattern: string])[] = [
  ["", ""],
  ["server started", "server started"],
  ["took 35 ms", "took <n> ms"],
  ["took 35ms, 1.25 s in all", "took <n>ms, <n> s in all"],
  ["from -5 to +3.5, 10-20, (-1), x=-2, 007", "from <n> to <n>, <n>-<n>, (<n>), x=<n>, <n>"],
  ["web-1 to worker_12: v1.2.3", "web-<n> to worker_<n>: v<n>.<n>"],
  ["order 4711 of 12,345.67", "order <n> of <n>,<n>"],
  ["request 550e8400-e29b-41d4-a716-446655440000 failed", "request <uuid> failed"],
  ["550E8400-E29B-41D4-A716-446655440000", "<uuid>"],
  ["550e8400-e29b-41d4-a716-4466554400001", "<hex>-e<n>b-<n>d<n>-a<n>-<n>"],
  ["at 2026-11-24T13:54:33.911Z", "at <time>"],
  ["2026-11-24 13:54:33,911 INFO", "<time> INFO"],
  ["2026-11-24T13:54:33+02:00 and 2026-11-24T13:54Z", "<time> and <time>"],
  ["on 2026-11-24: 3 of 2026-13-01", "on <time>: <n> of <n>-<n>-<n>"],
  ["13:54 and 9:05:07.5, [23:59:60]", "<time> and <time>, [<time>]"],
  ["09:00-17:30", "<time>-<time>"],
  ["25:00, src/app.ts:12:34, host:8080", "<n>:<n>, src/app.ts:<n>:<n>, host:<n>"],
  ["from 10.0.0.1:8080 and 10.0.0.256, 1.2.3.4.5.", "from <ip>:<n> and <n>.<n>, <n>.<n>.<n>."],
  ["from 10.0.0.1.", "from <ip>."],
  ["ping fe80::1, ::1 and 2001:db8:0:0:0:0:0:1.", "ping <ip>, <ip> and <ip>."],
  ["[::ffff:10.0.0.1]:443 std::vector 12:34:56:78:9a:bc", "[<ip>]:<n> std::vector <n>:<n>:<n>:<n>:<n>a:bc"],
  ['user "Ann B." said "say \\"hi\\" 12:30" and "', 'user <str> said <str> and "'],
  ['"10.0.0.1" was ""', "<str> was <str>"],
  ["commit 7f3a9c21, ABCDEF0, abcdef, 123456, a1b2c", "commit <hex>, <hex>, abcdef, <n>, a<n>b<n>c"],
  ["0x7f3a9c21", "<n>x<hex>"],
  ["1.5abcdef0 1.5abc 2.550e8400-e29b-41d4-a716-446655440000", "<n>.<hex> <n>abc <n>.<uuid>"],
  ["Müller zahlt ٣ und 3 €", "Müller zahlt ٣ und <n> €"],
];

for (const [text, pattern] of EXAMPLES) {
  test(`the pattern of ${JSON.stringify(text)}`, (t) => t.is(textPattern(text), pattern));
}

const CLOCK = String.raw`(?:[01]?\d|2[0-4]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?`;
const DATE = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;
const MOMENT = String.raw`${DATE}(?:[Tt ]${CLOCK}(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?`;
const TIME = String.raw`(?<![\w:.])(?:${MOMENT}|${CLOCK}(?:[Zz]|\+\d\d(?::?\d\d)?)?)(?!\w|:[\da-fA-F:])`;
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;

/** One expression for each kind of part, in the documented order. */
function byExpressions(text: string): string {
  const hex = "[0-9a-f]";
  return text
    .replace(new RegExp(`(?<!${hex})${hex}{8}-(?:${hex}{4}-){3}${hex}{12}(?!${hex})`, "gi"), "<uuid>")
    .replace(new RegExp(TIME, "g"), "<time>")
    .replace(/[\da-fA-F:.]+/g, (token, at: number, whole: string) => withoutIpv6(token, at, whole))
    .replace(new RegExp(String.raw`(?<![\w.])${BYTE}(?:\.${BYTE}){3}(?!\w|\.\d)`, "g"), "<ip>")
    .replace(/"(?:[^"\\]|\\.)*"/gs, "<str>")
    .replace(/[\da-f]{6,}/gi, (run) => (/\d/.test(run) && /[a-f]/i.test(run) ? "<hex>" : run))
    .replace(/(?:(?<![\w)\]>])[+-])?\d+(?:\.\d+)?/g, "<n>");
}

function withoutIpv6(token: string, at: number, text: string): string {
  if (/\w/.test(text[at - 1] ?? " ") || /\w/.test(text[at + token.length] ?? " ")) return token;
  for (const rest of ["", token.slice(-1)]) {
    const address = token.slice(0, token.length - rest.length);
    if (address.length > 2 && isIPv6(address)) return `<ip>${rest}`;
  }
  return token;
}

const PIECES = (
  "550e8400-e29b-41d4-a716-446655440000,2026-11-24,T,13:54,:33,.911,Z,+02:00,10.0.0.1,fe80::1,::,:,.,-,+," +
  '",\\,0,7,12,4711,abc,abcdef0,x,_,>,é, '
).split(",");

test("one pass finds what one expression for each kind finds", (t) => {
  const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(fc.oneof(texts, fc.string({ unit: "binary" })), (text) => {
      t.is(textPattern(text), byExpressions(text));
    }),
    { numRuns: 20_000 },
  );
});

test("an IPv6 address is what the platform accepts as one", (t) => {
  const parts = fc.constantFrom("::", ":", "1", "ffff", "12345", "fe80", "10.0.0.1", "1.2.3.04", "256.1.1.1", "0");
  const addresses = fc.array(parts, { minLength: 1, maxLength: 17 }).map((all) => all.join(""));
  const groups = fc.array(fc.constantFrom("1", "ffff", ""), { minLength: 6, maxLength: 9 }).map((all) => all.join(":"));
  fc.assert(
    fc.property(fc.oneof(addresses, groups), (address) => {
      fc.pre(
        address.includes(":") &&
          address.length > 2 &&
          /^[\da-f]|^::/.test(address) &&
          !/[.:]$/.test(address.replace(/::$/, "")),
      );
      t.is(textPattern(`<${address}>`) === "<<ip>>", isIPv6(address), address);
    }),
    { numRuns: 5_000 },
  );
});

test("takes linear time for any text", (t) => {
  const hostile = ["1", "a1", "1.", '"', '"\\', "::", "1:", "12:30:10.", "-1", "550e8400-", "a:", "10.0.0.", "fe80::"];
  const best_ms = (piece: string, units: number): number => {
    const text = piece.repeat(units / piece.length);
    const runs = Array.from({ length: 5 }, () => {
      const start_ms = performance.now();
      textPattern(text);
      return performance.now() - start_ms;
    });
    return Math.min(...runs);
  };
  // Quadratic time would be 4,096 times as much.
  const isLinear = (piece: string): boolean => best_ms(piece, 320_000) / best_ms(piece, 5_000) < 1_000;
  for (const piece of hostile) {
    // A busy machine may spoil an attempt.
    t.true(
      [1, 2, 3, 4, 5].some(() => isLinear(piece)),
      piece,
    );
  }
});
