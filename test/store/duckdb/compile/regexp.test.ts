import test from "ava";
import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import * as fc from "fast-check";

import { fold } from "../../../../src/events/text.ts";
import { checkExpression } from "../../../../src/query/regex/regex.ts";
import { compileExpression } from "../../../../src/query/regex/tree.ts";
import { toRe2 } from "../../../../src/store/duckdb/compile/regexp.ts";
import { expressions, textsForExpressions } from "../../../reference/expressions.ts";

const WRITTEN: readonly (readonly [pattern: string, written: string | null])[] = [
  ["error", "([Ee][Rr][Rr][Oo][Rr])"],
  ["disk", "([Dd][Ii][Ss\\x{17f}][Kk\\x{212a}])"],
  ["(?-i:Disk) 1", "(Disk\\x{20}1)"],
  ["a.c", "([Aa][\\x{0}-\\x{9}\\x{b}-\\x{d7ff}\\x{e000}-\\x{10ffff}][Cc])"],
  ["(?s)a.*c", "([Aa](?s:.)*[Cc])"],
  ["^(?P<n>a|b)+$", "(\\A[A-Ba-b]+\\z)"],
  ["(?m)^(ab|\\b)$", "((?m:^)(?:[Aa][Bb]|\\b)(?m:$))"],
  ["1{2,}", "(11+)"],
  ["1{0,2}", "((?:1(?:1)?)?)"],
  ["(12){0,2}?", "((?:(?:12)(?:(?:12))?)?)"],
  ["1\\B", "(1\\B)"],
  ["", "((?:))"],
  ["\\x{D800}", null],
];

for (const [pattern, written] of WRITTEN) {
  test(`/${pattern}/ is ${written === null ? "untranslatable" : `/${written}/`} for DuckDB`, (t) => {
    t.is(toRe2(pattern)?.pattern ?? null, written);
  });
}

/** Expressions, and the characters that every matching text contains. */
const FIXED: readonly (readonly [pattern: string, fixed: string | null])[] = [
  ["timeout.*id=9[0-9]{3}$", "=9"],
  ["a=\\b99+1", "=99"],
  ["x(12){2,}x", "12"],
  ["((404)+|404): ", ": "],
  ["(?-i:Disk) 1", "Disk 1"],
  ["(?:45)?6", null],
  ["(?:12)*34{0}5", "35"],
  ["12|34", null],
  ["3+3", null],
  ["99*8", null],
  ["  ", null],
  ["\\n\\n", null],
  ["Disk", null],
  ["^$", null],
];

for (const [pattern, fixed] of FIXED) {
  test(`/${pattern}/ matches only texts that contain ${fixed === null ? "anything" : `"${fixed}"`}`, (t) => {
    t.is(toRe2(pattern)?.fixed, fixed);
  });
}

/** Expressions close to every limit, with every construct that RE2 has of its own. */
const ACCEPTED = [
  "",
  "disk",
  "a".repeat(1000),
  ".{1000}",
  ".{0,900}",
  "\\w{1000}",
  "\\pL{29}",
  "[^\\pL]{29}",
  "[\\pL\\pN\\pP\\pS]{24}",
  "\\PM{60}",
  "(\\pL\\pN){20}",
  "\\p{Greek}+",
  "\\p{^Lu}",
  "(?i-s)a",
  "(?U)a+",
  "(?m)^a$",
  "(?s).",
  "(?P<n>a)",
  "(?<n>a)(?<m>(?<o>b))",
  "\\Qa.(?<b\\E",
  "[(?<]",
  "\\(?<",
  "[[:word:]]",
  "[[:^alpha:]\\d]",
  "[]a]",
  "[^]a]",
  "\\x{10FFFF}",
  "\\123\\a\\f\\v",
  "a{,2}",
  "()*",
  "\\z",
  "(?:x(?:x)?){400}",
  "(".repeat(400) + "a" + ")".repeat(400),
  "(".repeat(300) + "a" + ")*".repeat(300),
  "(?:a?b|".repeat(110) + "c" + ")+".repeat(110),
];

test("accepted expressions run in DuckDB and match the same texts", async (t) => {
  const find = await finder(t);
  const texts = ["", "disk", "ſK", "a.(?<b", "\u{10ffff}", "Ω", "Á", "aaa\nbbb", "x".repeat(500), "日本".repeat(250)];
  for (const pattern of ACCEPTED) {
    t.deepEqual(checkExpression(pattern), { kind: "ok" }, pattern);
    t.deepEqual(await disputed(find, pattern, texts), [], pattern);
  }
});

/** Every property and class, plain, negated and case-sensitive. */
const CLASSES = "Lu Ll Lt Lm Lo L M N Nd No P S Zs Cc Cf C Han Greek Latin Cyrillic Arabic Garay Sidetic Todhri"
  .split(" ")
  .flatMap((name) => [`\\p{${name}}`, `[^\\p{${name}}]`, `(?-i:\\p{${name}})`, `(?-i:[^\\p{${name}}a])`])
  .concat("\\w", "\\W", "\\s", "[[:upper:]]", "(?-i:[[:upper:]])", "[k-z]", "[^k-z]", "(?-i:[k-z])", ".", "(?s:.)");

test("a class holds the same characters", async (t) => {
  const find = await finder(t);
  const characters = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0x3400 || (code >= 0xa600 && code < 0xac00) || code % 31 === 0)
    .map((code) => String.fromCodePoint(code))
    .filter((character) => character.isWellFormed());
  for (const pattern of CLASSES) t.deepEqual(await disputed(find, pattern, characters), [], pattern);
});

test("every letter is found in all its cases", async (t) => {
  const find = await finder(t);
  const letters = new Map<string, string[]>();
  for (let code = 0; code < 0x20000; code++) {
    const character = String.fromCodePoint(code);
    if (!character.isWellFormed() || fold(character) === character) continue;
    const forms = letters.get(fold(character)) ?? [fold(character)];
    letters.set(fold(character), [...forms, character]);
  }
  t.true(letters.size > 1400);
  const texts = [...letters.values()].flat();
  const chosen = [...letters.values()].filter((forms, i) => forms.length > 2 || i % 20 === 0);
  for (const forms of chosen.flat()) t.deepEqual(await disputed(find, forms, texts), [], forms);
});

test("expressions of all kinds match the same texts in DuckDB and here", async (t) => {
  const find = await finder(t);
  const seed = Number(process.env["FAST_CHECK_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  t.log(`fast-check's seed ${seed}`);
  const texts = fc.sample(textsForExpressions, { seed, numRuns: 400 });
  for (const pattern of fc.sample(expressions, { seed, numRuns: 400 }))
    t.deepEqual(await disputed(find, pattern, texts), [], pattern);
});

test("a position inside a character does not match", async (t) => {
  const find = await finder(t);
  const texts = ["aéa", "é", "日a", "a日", "aé", "éé", "ab", "a", "", "a b", " "];
  for (const pattern of [
    "\\B",
    "\\B\\B",
    "(?:\\B|x)",
    "\\B|x",
    "(\\B)+",
    "\\B*",
    "a\\B",
    "\\Bé",
    "^\\B",
    "\\B(?:é|)",
    "\\b\\B",
  ])
    t.deepEqual(await disputed(find, pattern, texts), [], pattern);
});

type Find = (pattern: string, texts: readonly string[]) => Promise<string[]>;

/** Returns a function that asks DuckDB which of the texts an expression matches. */
async function finder(t: { teardown(done: () => void): void }): Promise<Find> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  t.teardown(() => {
    connection.closeSync();
    instance.closeSync();
  });
  const tables = new Map<readonly string[], string>();
  return async (pattern, texts) => {
    if (!tables.has(texts)) tables.set(texts, await newTable(connection, `texts_${tables.size}`, texts));
    const written = toRe2(pattern);
    if (written === null) return [];
    const question = `select place from ${tables.get(texts)} where regexp_matches(text, $1) order by place`;
    const rows = (await connection.runAndReadAll(question, [written.pattern])).getRows();
    return rows.map(([place]) => texts[place as number]!);
  };
}

async function newTable(connection: DuckDBConnection, name: string, texts: readonly string[]): Promise<string> {
  await connection.run(`create table ${name} (place integer, text varchar)`);
  const appender = await connection.createAppender(name);
  texts.forEach((text, at) => {
    appender.appendInteger(at);
    appender.appendVarchar(text);
    appender.endRow();
  });
  appender.closeSync();
  return name;
}

/** Returns the first texts that only one of the two engines matches; [] if both agree. */
async function disputed(find: Find, pattern: string, texts: readonly string[]): Promise<string[]> {
  const found = new Set(await find(pattern, texts));
  const expression = compileExpression(pattern);
  return texts.filter((text) => found.has(text) !== expression.test(text)).slice(0, 5);
}
