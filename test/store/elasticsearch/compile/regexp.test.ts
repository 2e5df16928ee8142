import { errors } from "@elastic/elasticsearch";
import test from "ava";
import fc from "fast-check";

import { fold } from "../../../../src/events/text.ts";
import { compileExpression } from "../../../../src/query/regex/tree.ts";
import {
  containing,
  MAX_EXPRESSION_LENGTH,
  toLuceneRegexp,
} from "../../../../src/store/elasticsearch/compile/regexp.ts";
import { elasticsearchClient } from "../../../support/elasticsearch.ts";
import { realEngines } from "../../../support/engine-kinds.ts";
import { expressions, textsForExpressions } from "../../../reference/expressions.ts";
import { uniqueName } from "../../../support/temporary.ts";

const TRANSLATIONS: readonly [pattern: string, on: "folded" | "original", expression: string | null][] = [
  ["timeout", "folded", ".*timeout.*"],
  ["", "folded", ".*.*"],
  ["^Error", "folded", "error.*"],
  ["failed$", "folded", ".*failed"],
  ["^$", "folded", "()"],
  ["a.c", "folded", ".*a[^\n]c.*"],
  ["(?s)a.c", "folded", ".*a.c.*"],
  ["k", "folded", ".*k.*"],
  ["(?-i:K)", "original", ".*K.*"],
  ["(?-i:K9)x", "original", ".*K9[Xx].*"],
  ["[^a]", "folded", ".*[^Aa].*"],
  ["\\d{2,4}", "folded", ".*[0-9][0-9][0-9]{0,2}.*"],
  ["(ab){3}", "folded", ".*ababab.*"],
  ["a{5}", "folded", ".*a{5}.*"],
  ["ab|cd", "folded", ".*(ab|cd).*"],
  ["(ab|cd)+", "folded", ".*(ab|cd)+.*"],
  ['#@&<>~"', "folded", '.*\\#\\@\\&\\<\\>\\~\\".*'],
  ["a\\.b\\*", "folded", ".*a\\.b\\*.*"],
  ["\\Qa.b\\E", "folded", ".*a\\.b.*"],
  ["\\bat\\b", "original", "(.*[^0-9A-Z\\_a-z]|())[Aa][Tt]([^0-9A-Z\\_a-z].*|())"],
  ["x\\b y", "original", ".*[Xx] [Yy].*"],
  ["x\\by", "original", null],
  ["a^b", "folded", null],
  ["(?m)^at$", "folded", "(.*\n|())at(\n.*|())"],
  ["(^| )at", "folded", ".* at.*|at.*"],
  ["(?m)^a?$", "folded", "(.*\n|())a?(\n.*|())"],
];

for (const [pattern, on, expression] of TRANSLATIONS) {
  test(`/${pattern}/ is ${expression === null ? "untranslatable" : `/${expression}/`} in Lucene's dialect`, (t) => {
    t.deepEqual(toLuceneRegexp(pattern), { kind: "exact", on, expression });
  });
}

test("constructs that Lucene lacks widen the expression, never narrow it", (t) => {
  t.deepEqual(toLuceneRegexp("(\\bat\\b ?)+"), { kind: "wider", on: "original", expression: ".*([Aa][Tt] ?)+.*" });
});

test("expressions that would overload the cluster are not sent", (t) => {
  for (const pattern of [
    "a?".repeat(400),
    "\\pL{0,100}x",
    "(a|b?c?){300}",
    "(?:x+y?){0,500}",
    "[α-ω]".repeat(2000),
    "(?-i:\\p{Lu}|n)\\b.*(?-i:\\p{Ll})\\b",
    "\\bx(?-i)\\p{Lu}\\b.*\\p{Lu}\\b",
    "(?-i)\\p{Lu}.*\\b",
    "(".repeat(500) + ")".repeat(500) + "a",
  ]) {
    const { kind, expression } = toLuceneRegexp(pattern);
    t.true((expression ?? "").length <= MAX_EXPRESSION_LENGTH);
    if (pattern.startsWith("(((")) continue;
    t.deepEqual({ kind, expression }, { kind: "wider", expression: ".*" }, pattern.slice(0, 20));
  }
});

test("no RE2 expression is refused here for its form alone", (t) => {
  const error = t.throws(() => toLuceneRegexp("a(b"));
  t.is(error.name, "RE2JSSyntaxException");
});

/**
 * Classes with ranges that begin at characters with a meaning to Lucene, which must not match the
 * ends alone.
 */
const RANGES: readonly string[] = [
  "[[:punct:]]",
  "[[:graph:]]+$",
  "[!-~]",
  "[^!-~]",
  "[+-9]",
  "[/-9]",
  "[#-x]",
  "[_-z]",
  "[:-?]",
  "[\\--a]",
  "[\\[-a]",
  "[\\\\-a]",
  "[\\]-a]",
  "[\\^-a]",
  "\\pP",
  "\\pS",
  "[^\\pP]{2}",
];

if (realEngines) {
  test("expressions match the same texts in the engine and here, in texts of all kinds", async (t) => {
    const client = elasticsearchClient();
    const index = uniqueName("regexp");
    t.teardown(() => client.indices.delete({ index }));
    await client.indices.create({
      index,
      settings: { number_of_shards: 1, number_of_replicas: 0, "index.max_regex_length": MAX_EXPRESSION_LENGTH },
      mappings: {
        dynamic: false,
        properties: {
          original: { type: "keyword", index: false },
          folded: { type: "keyword", index: false },
          indexed: { type: "keyword" },
        },
      },
    });
    const seed = Number(process.env["FAST_CHECK_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
    t.log(`fast-check's seed ${seed}`);
    const ascii = Array.from({ length: 128 }, (_, code) => `a${String.fromCodePoint(code)}`);
    const texts = [...new Set([...fc.sample(textsForExpressions, { seed, numRuns: 400 }), ...ascii])];
    await client.bulk({
      index,
      refresh: true,
      operations: texts.flatMap((original, i) => [
        { index: { _id: String(i) } },
        { original, folded: fold(original), indexed: fold(original) },
      ]),
    });
    const patterns = [...RANGES, ...fc.sample(expressions, { seed, numRuns: 150 })];
    const kinds = { exact: 0, wider: 0, tooComplex: 0 };
    for (const expression of patterns) {
      const regexp = toLuceneRegexp(expression);
      const found = await findTexts(regexp.on, regexp.expression);
      kinds[found === null ? "tooComplex" : regexp.kind] += 1;
      if (found === null) continue;
      const compiled = compileExpression(expression);
      const expected = texts.filter((candidate) => compiled.test(candidate));
      const wanted = regexp.kind === "exact" ? expected : expected.filter((candidate) => !found.has(candidate));
      const actual = regexp.kind === "exact" ? texts.filter((candidate) => found.has(candidate)) : [];
      t.deepEqual(actual, wanted, `/${expression}/ as ${JSON.stringify(regexp)}`);
    }
    for (const part of fc.sample(textsForExpressions, { seed, numRuns: 20 })) {
      const found = await findTexts("indexed", containing(part));
      const expected = texts.filter((candidate) => fold(candidate).includes(fold(part)));
      t.deepEqual(
        texts.filter((candidate) => found?.has(candidate)),
        expected,
        JSON.stringify(part),
      );
    }
    t.log(`${kinds.exact} expressions exact, ${kinds.wider} wider, ${kinds.tooComplex} too complex`);
    t.true(kinds.exact > 75);

    /** null if the engine reports that the expression is too complex. */
    async function findTexts(field: string, value: string | null): Promise<ReadonlySet<string> | null> {
      if (value === null) return new Set();
      const query = { regexp: { [field]: { value, flags: "NONE" } } };
      try {
        const { hits } = await client.search<{ original: string }>({ index, size: 1000, query });
        return new Set(hits.hits.map(({ _source: source }) => source?.original ?? ""));
      } catch (error) {
        if (error instanceof errors.ResponseError && /too_complex_to_determinize/.test(JSON.stringify(error.body)))
          return null;
        throw error;
      }
    }
  });
}
