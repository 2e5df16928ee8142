import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "ava";
import ts from "typescript";

import { attacksOn, textOfAttack } from "../support/regex-attacks.ts";
import type { Attack } from "../support/regex-attacks.ts";
import { busy_ms } from "../support/turns.ts";

const ROOT = new URL("../../", import.meta.url);
const MOST_MS = 20;
/** Lengths to try. The short ones find what would take minutes with the long one. */
/**
 * Lengths to try, the short ones for what would take minutes with the others. An attack that takes
 * less than `usual_ms` with a length of `SCREENED` or more isn't tried with the next.
 */
const LENGTHS = [
  { length: 24, usual_ms: 1 },
  { length: 200, usual_ms: 1 },
  { length: 1_500, usual_ms: 0.05 },
  { length: 10_000, usual_ms: 1 },
  { length: 40_000, usual_ms: MOST_MS },
];
const SCREENED = 1_500;
/** With this length the time must not grow like its square. Below, the limit itself counts. */
const LARGE = 40_000;
const MOST_GROWTH = 8;

const FILE_NAME = { length: 255, why: "the name of a file" };
/**
 * Expressions that take more than linear time, with the length of the longest text that they get
 * and what bounds it.
 */
const BOUNDED: Readonly<Record<string, { readonly length: number; readonly why: string }>> = {
  [String.raw`src/query/regex/pieces.ts: /\\(?<sign>[pP])(?:\{(?<caret>\^?)(?<name>[^}]*)\}|(?<letter>[A-Z]))?/y`]: {
    length: 1_000,
    why: "an expression has at most 1,000 characters",
  },
  [String.raw`src/cli/ship/generation-names.ts: /(?:\.\d[\w.:-]*?|[._-](?:(?:\d{1,3}(?!\d)|(?:19|20)\d\d|\d{8,})[\w.:-]*?|old|bak|prev))$/`]:
    FILE_NAME,
  [String.raw`src/cli/ship/generation-names.ts: /^(.*?)[._-](?:(?:\d{1,3}(?!\d)|(?:19|20)\d\d|\d{8,})[\w.:-]*?|old|bak|prev)(\.[A-Za-z]\w*)$/`]:
    FILE_NAME,
  [String.raw`src/cli/ship/generation-names.ts: /^[._-](?:(?:\d{1,3}(?!\d)|(?:19|20)\d\d|\d{8,})[\w.:-]*?|old|bak|prev)$/`]:
    FILE_NAME,
  [String.raw`src/pino/answer.mjs: /<(style|script)\b.*?<\/\1>|<[^>]*>/gis`]: {
    length: 2_000,
    why: "the beginning of an answer",
  },
  [String.raw`src/web/parts/text/numbers.ts: /\B(?=(?:\d{3})+$)/g`]: { length: 24, why: "a number below 10^15" },
  [String.raw`src/web/features/editor/check.ts: / Did you mean .*\?$/`]: {
    length: 5_000,
    why: "the fault of a query, which has at most 4,096 characters",
  },
};

/**
 * Sticky expressions that are tried once where they match nothing: the reader then fails, or goes on
 * behind all that was looked at.
 */
const TRIED_ONCE: Readonly<Record<string, readonly string[]>> = {
  "src/cli/ship/formats.ts": ["PAIR"],
  "src/ingest/protocols/loki/labels.ts": ["PAIR", "UNESCAPED"],
  "src/ingest/protocols/syslog/decode.ts": ["TAG", "TAG_WITH_PROCESS"],
  "src/ingest/protocols/syslog/devices.ts": ["PREFIX"],
  "src/query/lexer.ts": ["DATE"],
};

/** Files with expressions that are made as the program runs. */
const MADE: Readonly<Record<string, string>> = {
  "src/cli/ship/generation-names.ts": "the name of a file",
  "src/cli/ship/pieces.ts": "the user's own expression, in the user's own process",
  "src/cli/ship/events.ts": "the user's own expression, in the user's own process",
  "src/ingest/kit/time-format.ts": "the user's own format, in the user's own process",
  "src/ingest/posting/key-mask.ts": "each character of a key, with at most 8 backslashes before it",
  "src/pino/answer.mjs": "a status",
  "src/web/parts/query/simple.ts": "what is typed on one's own page",
  "src/web/features/settings/health.tsx": "constant names of metrics in the service's own answer",
};

type Expression = {
  readonly file: string;
  readonly expression: RegExp;
  /** Its constant, null if it has none. */
  readonly constant: string | null;
  /** Whether all matches of a text are looked for, not only the first. */
  readonly isForAll: boolean;
};

function filesOf(): string[] {
  const patterns = ["src/*.ts", "src/*.tsx", "src/*.mts", "src/*.mjs", "src/*.js", "pipelines/*.ts"];
  const files = execFileSync("git", ["ls-files", ...patterns], { cwd: ROOT, encoding: "utf8" });
  return files.split("\n").filter((file) => file !== "" && !file.endsWith(".min.js"));
}

/** Returns the expressions of a file, and the number of those whose source isn't constant. */
function expressionsOf(file: string, text: string): { expressions: Expression[]; made: number } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = constantsOf(source);
  const expressions: Expression[] = [];
  let made = 0;
  const common = ({ parent }: ts.Node) => ({
    file,
    constant: ts.isVariableDeclaration(parent) ? parent.name.getText() : null,
  });
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf("/");
      const expression = new RegExp(node.text.slice(1, end), node.text.slice(end + 1));
      expressions.push({ ...common(node), expression, isForAll: expression.global || isSplit(node) });
    } else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") {
      const [pattern, flags] = (node.arguments ?? []).map((argument) => textOf(argument, constants));
      if (typeof pattern !== "string" || flags === null) made += 1;
      else {
        const expression = new RegExp(pattern, flags);
        expressions.push({ ...common(node), expression, isForAll: expression.global });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { expressions, made };
}

function isSplit({ parent }: ts.Node): boolean {
  return (
    ts.isCallExpression(parent) &&
    ts.isPropertyAccessExpression(parent.expression) &&
    parent.expression.name.text === "split"
  );
}

/** The texts of a file's constants. */
function constantsOf(source: ts.SourceFile): ReadonlyMap<string, string> {
  const constants = new Map<string, string>();
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { name, initializer } of statement.declarationList.declarations) {
      const text = initializer === undefined ? null : textOf(initializer, constants);
      if (ts.isIdentifier(name) && text !== null) constants.set(name.text, text);
    }
  }
  return constants;
}

/** Returns the text of a constant expression, null if it isn't one. */
function textOf(node: ts.Expression, constants: ReadonlyMap<string, string>): string | null {
  if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text;
  if (ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf("/"));
  if (ts.isIdentifier(node)) return constants.get(node.text) ?? null;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return together([textOf(node.left, constants), textOf(node.right, constants)]);
  }
  const isRaw = ts.isTaggedTemplateExpression(node) && node.tag.getText() === "String.raw";
  const template = isRaw ? node.template : node;
  const written = (part: ts.TemplateLiteralLikeNode): string | null => (isRaw ? part.rawText! : part.text);
  if (ts.isNoSubstitutionTemplateLiteral(template)) return written(template);
  if (!ts.isTemplateExpression(template)) return null;
  return together([
    written(template.head),
    ...template.templateSpans.flatMap(({ expression, literal }) => [textOf(expression, constants), written(literal)]),
  ]);
}

function together(texts: readonly (string | null)[]): string | null {
  return texts.includes(null) ? null : texts.join("");
}

/** Searches a text as code does: for one match, for all, or with a sticky expression, from match to match. */
function search({ file, constant, expression, isForAll }: Expression, text: string): void {
  expression.lastIndex = 0;
  if (expression.sticky) {
    const isTriedOnce = constant !== null && TRIED_ONCE[file]?.includes(constant) === true;
    for (let at = 0; at < text.length;) {
      expression.lastIndex = at;
      const found = expression.exec(text)?.[0];
      if ((found ?? "") === "" && isTriedOnce) return;
      at += Math.max(1, found?.length ?? 0);
    }
  } else if (isForAll) text.split(expression);
  else expression.exec(text);
}

/** Returns the time of a search, the least of a few attempts if they take longer than the limit. */
function timeOf_ms(expression: Expression, text: string, limit_ms: number, clock: () => number): number {
  let best_ms = Infinity;
  for (let attempt = 0; attempt < 3 && best_ms >= limit_ms; attempt++) {
    const start_ms = clock();
    search(expression, text);
    best_ms = Math.min(best_ms, clock() - start_ms);
  }
  return best_ms;
}

/** Returns what takes longer than the limit, null if no attack does. */
function slowAttack(expression: Expression, longest: number): string | null {
  let attacks = attacksOn(expression.expression);
  const lengths = LENGTHS.filter(({ length }) => length < longest);
  for (const { length, usual_ms } of [...lengths, { length: longest, usual_ms: MOST_MS }]) {
    const suspicious: Attack[] = [];
    for (const attack of attacks) {
      const text = textOfAttack(attack, length);
      const passed_ms = timeOf_ms(expression, text, usual_ms, () => performance.now());
      if (passed_ms < usual_ms) continue;
      suspicious.push(attack);
      const took_ms = passed_ms < MOST_MS ? 0 : timeOf_ms(expression, text, MOST_MS, busy_ms);
      if (took_ms < MOST_MS || (length === LARGE && growthOf(expression, attack) < MOST_GROWTH)) continue;
      return `${took_ms.toFixed()} ms for ${length} characters of ${JSON.stringify(attack)}`;
    }
    if (length >= SCREENED) attacks = suspicious;
  }
  return null;
}

/** Returns how many times longer four times the text takes. */
function growthOf(expression: Expression, attack: Attack): number {
  const [quarter_ms = 0, whole_ms = 0] = [LARGE / 4, LARGE].map((length) =>
    timeOf_ms(expression, textOfAttack(attack, length), 0, () => performance.now()),
  );
  return whole_ms / quarter_ms;
}

function nameOf({ file, expression }: Expression): string {
  return `${file}: ${String(expression)}`;
}

const files = filesOf().map((file) => ({
  file,
  ...expressionsOf(file, readFileSync(new URL(file, ROOT), "utf8")),
}));
const all = files.flatMap(({ expressions }) => expressions);

function slowOnesOf(expressions: readonly Expression[]): string[] {
  return expressions.flatMap((each) => {
    const attack = slowAttack(each, BOUNDED[nameOf(each)]?.length ?? LARGE);
    return attack === null ? [] : [`${nameOf(each)}: ${attack}`];
  });
}

test("every regular expression takes linear time for any text, or gets short texts only", (t) => {
  t.true(all.length > 300, "fewer expressions are found than there are");
  t.deepEqual(slowOnesOf(all), [], "Write each of these without repeats that can share a text out in several ways");
});

test("expressions that take more than linear time are found, however they are written", (t) => {
  const planted = [
    String.raw`text.replace(/\s+$/, "");`,
    String.raw`text.split(/\s+(?![^{]*\})/u);`,
    String.raw`const TWICE = /^(?:a+)+$/;`,
    String.raw`const ENTRY = /\w*: (.*?);/y;`,
    'const BLANKS = "\\\\s*";\nconst LIST = new RegExp(`^${BLANKS},?${BLANKS}$`);',
  ];
  for (const code of planted) t.is(slowOnesOf(expressionsOf("planted.ts", code).expressions).length, 1, code);
  t.deepEqual(slowOnesOf(expressionsOf("planted.ts", String.raw`text.replace(/(?<!\s)\s+$/, "");`).expressions), []);
});

test("the lists of exceptions name expressions that exist and need to be listed", (t) => {
  const names = new Map(all.map((each) => [nameOf(each), each]));
  for (const name of Object.keys(BOUNDED)) {
    const expression = names.get(name);
    t.truthy(expression && slowAttack(expression, LARGE), `${name} is not there, or takes linear time`);
  }
  for (const [file, constants] of Object.entries(TRIED_ONCE)) {
    for (const name of constants) {
      const expression = all.find((each) => each.file === file && each.constant === name)?.expression;
      t.true(expression?.sticky, `${file} has no sticky expression ${name}`);
    }
  }
  const made = files.filter((file) => file.made > 0).map(({ file }) => file);
  t.deepEqual(made.toSorted(), Object.keys(MADE).toSorted(), "expressions that are made as the program runs");
});
