import test from "ava";
import { readFileSync } from "node:fs";

import { parseTemplate } from "../../src/catalog/hook-template.ts";
import type { TemplateSource } from "../../src/catalog/hook-template.ts";
import { LoggiaError } from "../../src/errors.ts";
import { busy_ms } from "../support/turns.ts";

const item = (...steps: readonly string[]) => ({ from: "item", steps });

test("a template has texts with paths in braces", (t) => {
  const { text, tags, each, source } = parseTemplate({
    text: '{action} by {sender.login | $.by|"a.b|{}".0} {{x}}',
    tags: ["{a}", "deploy"],
    source: "{$header.X-GitHub-Event}",
    each: "data.items",
  });
  t.deepEqual(text, [
    [item("action")],
    " by ",
    [item("sender", "login"), { from: "body", steps: ["by"] }, item("a.b|{}", "0")],
    " {x}",
  ]);
  t.deepEqual(tags, [[[item("a")]], ["deploy"]]);
  t.deepEqual(source, [[{ from: "header", steps: ["x-github-event"] }]]);
  t.deepEqual(each, { from: "body", steps: ["data", "items"] });
  t.deepEqual(parseTemplate({ tags: "deploy  {a | b} {c}" }).tags, [
    ["deploy"],
    [[item("a"), item("b")]],
    [[item("c")]],
  ]);
  t.deepEqual(parseTemplate({ each: "{$.a.b}" }).each, { from: "body", steps: ["a", "b"] });
});

test("tags in one text are split at blanks outside placeholders, in linear time", (t) => {
  const tagsOf = (tags: string) => parseTemplate({ tags }).tags.length;
  t.is(tagsOf("  a\tb-{c |  d}-e  {f}{g }  "), 3);
  t.is(tagsOf("{{ a  b }} c"), 2);
  const start_ms = busy_ms();
  t.throws(() => parseTemplate({ tags: `{${" ".repeat(998)}}` }), { instanceOf: LoggiaError });
  t.true(busy_ms() - start_ms < 100);
});

test("the templates of the manual are valid", (t) => {
  const page = readFileSync(new URL("../../docs/producers/webhooks.md", import.meta.url), "utf8");
  const found = [...page.matchAll(/```json\n(.*?)```|--template '(.*?)'/gs)].map(
    ([, block, given]) => block ?? given ?? "",
  );
  t.is(found.length, 4);
  for (const source of found) t.notThrows(() => parseTemplate(JSON.parse(source) as TemplateSource), source);
});

const many = (count: number, text: string) => Array.from({ length: count }, () => text);

/** Nested more deeply than JSON can be written. */
const deep: unknown = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);

const WRONG: readonly (readonly [TemplateSource, RegExp])[] = [
  [{}, /The field template is empty/],
  [{ text: 1 }, /The field template\.text must be text/],
  [{ txt: "a" }, /The field template\.txt is unknown; a template has text, .*tags, each/],
  [{ text: "a {b" }, /template\.text is wrong at its end: a dot, a \| or a \} is expected/],
  [{ text: "{}" }, /template\.text is wrong at character 2: a name is expected/],
  [{ text: "{a..b}" }, /template\.text is wrong at character 4/],
  [{ text: "{a b}" }, /template\.text is wrong at character 4/],
  [{ text: "{a|}" }, /template\.text is wrong at character 4/],
  [{ text: '{"a}' }, /template\.text is wrong at character 2/],
  [{ text: "{a}}" }, /template\.text has a \} at character 4 without a \{ before it/],
  [{ text: "{$}" }, /\$ needs a name after it/],
  [{ text: "{$header.authorization}" }, /the header authorization may hold a secret/],
  [{ text: "{$header.X-API-Key}" }, /the header x-api-key may hold a secret/],
  [{ text: "{$header.x-hub-signature-256}" }, /may hold a secret/],
  [{ text: "{$header.cookie}" }, /may hold a secret/],
  [{ tags: [1] }, /template\.tags\[0\] must be text/],
  [{ tags: ["a", "{"] }, /template\.tags\[1\] is wrong/],
  [{ tags: { a: 1 } }, /template\.tags must be a list/],
  [{ tags: many(21, "a") }, /at most 20/],
  [{ tags: " ".repeat(60_000) }, /template\.tags is too long/],
  [{ each: "a".repeat(60_000) }, /template\.each is too long/],
  [{ ["x".repeat(60_000)]: "a" }, /^The field template\.x{40}… is unknown/],
  [{ text: deep }, /template\.text must be text/],
  [{ each: "a.b c" }, /template\.each must be one path/],
  [{ each: "a..b" }, /template\.each is wrong at character 3/],
  [{ each: "{a}{b}" }, /template\.each must be one path/],
  [{ each: "{a|b}" }, /template\.each must be one path/],
  [{ each: "$header.x" }, /template\.each must be one path/],
  [{ each: 1 }, /template\.each must be text/],
  [{ text: "x".repeat(1_001) }, /template\.text is too long/],
  [
    {
      text: "x".repeat(900),
      data: "x".repeat(900),
      user: "x".repeat(900),
      source: "x".repeat(900),
      link: "x".repeat(900),
    },
    /4096/,
  ],
  [{ text: `{${many(17, "a").join(".")}}` }, /a path has at most 16 names/],
  [{ text: many(101, "{a}").join("") }, /at most 100 paths/],
  [JSON.parse('{"__proto__":"{a}"}') as TemplateSource, /template\.__proto__ is unknown/],
];

for (const [n, [template, message]] of WRONG.entries()) {
  test(`a fault is reported with its place: ${n} ${Object.keys(template).join().slice(0, 60)}`, (t) => {
    const error = t.throws(() => parseTemplate(template), { instanceOf: LoggiaError });
    t.is(error?.code, "bad_parameter");
    t.regex(error?.message ?? "", message);
  });
}
