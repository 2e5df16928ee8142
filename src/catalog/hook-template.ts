import { LoggiaError } from "../errors.ts";
import { shorten } from "../events/quote.ts";

/** A template as written by users: each field is a text with paths in braces. */
export type TemplateSource = Readonly<Record<string, unknown>>;

/** Event fields that a template may set, besides `tags` and `each`. */
export const TEMPLATE_FIELDS = [
  "text",
  "data",
  "severity",
  "source",
  "user",
  "link",
  "value",
  "created",
  "id",
] as const;
export type TemplateField = (typeof TEMPLATE_FIELDS)[number];

/** A parsed template. */
export type HookTemplate = Readonly<Partial<Record<TemplateField, TemplatePattern>>> & {
  readonly tags: readonly TemplatePattern[];
  /** The list whose items become events; null: the body is one event. */
  readonly each: Path | null;
};

/** Literal text and placeholders. A placeholder takes the first of its paths that has a value. */
export type TemplatePattern = readonly (string | readonly Path[])[];

/** Location of a value: in the item, in the whole body, or in the request headers. */
export type Path = { readonly from: "item" | "body" | "header"; readonly steps: readonly string[] };

const MAX_CHARACTERS = 4_096;
const MAX_FIELD = 1_000;
const MAX_TAGS = 20;
const MAX_PATHS = 100;
const MAX_STEPS = 16;
const KNOWN: ReadonlySet<string> = new Set([...TEMPLATE_FIELDS, "tags", "each"]);
/** Headers that may hold a secret must not get into an event. Bitbucket's X-Event-Key holds none. */
const SECRET_HEADER = /auth|cookie|(?<!event-|idempotency-)key|token|secret|signature|password/i;
const STEP = /^(?:"(?<quoted>[^"]{1,200})"|(?<bare>[^\s."|{}]{1,200}))/;

/**
 * Parses a template. Its size is bounded, it contains no code, and it can only read the body and
 * headers of the request.
 * @throws LoggiaError `bad_parameter`, which names the field and the position
 */
export function parseTemplate(source: TemplateSource): HookTemplate {
  const parser = new PatternParser();
  const fields: Partial<Record<TemplateField, TemplatePattern>> = {};
  for (const [name, value] of Object.entries(source)) {
    if (!KNOWN.has(name)) {
      throw bad(`template.${shorten(name)}`, `is unknown; a template has ${[...KNOWN].join(", ")}`);
    }
    if (name !== "tags" && name !== "each") fields[name as TemplateField] = parser.parse(`template.${name}`, value);
  }
  const { tags, each } = source;
  const parsed = {
    ...fields,
    tags: tags === undefined ? [] : readTags(parser, tags),
    each: each === undefined ? null : readEach(each),
  };
  if (Object.keys(fields).length === 0 && parsed.tags.length === 0 && parsed.each === null) {
    throw bad("template", 'is empty; give it a field, such as {"text": "{title}"}');
  }
  return parsed;
}

/** Reads the tags: a list of texts, or one text with spaces between tags. */
function readTags(parser: PatternParser, tags: unknown): readonly TemplatePattern[] {
  const field = "template.tags";
  if (typeof tags === "string") checkLength(field, tags);
  const listed = typeof tags === "string" ? splitTags(tags) : tags;
  if (!Array.isArray(listed) || listed.length > MAX_TAGS) {
    throw bad(field, `must be a list of at most ${MAX_TAGS} texts`);
  }
  return listed.filter((tag) => tag !== "").map((tag, n) => parser.parse(`${field}[${n}]`, tag));
}

/** Splits a text at white space outside placeholders, which is where no `}` is the next brace. */
function splitTags(text: string): string[] {
  const tags = [""];
  const parts = text.split(/([{}])/);
  for (const [i, part] of parts.entries()) {
    const [first = "", ...further] = parts[i + 1] === "}" ? [part] : part.split(/\s+/);
    tags.push(`${tags.pop()}${first}`, ...further);
  }
  return tags;
}

/** Reads the path of the list. The braces are optional here. */
function readEach(each: unknown): Path {
  const field = "template.each";
  if (typeof each !== "string") throw bad(field, "must be text");
  checkLength(field, each);
  const text = each.startsWith("{") && each.endsWith("}") ? each.slice(1, -1) : each;
  const { path, end } = readPath(field, text, 0);
  if (end === text.length && path.from !== "header") return { ...path, from: "body" };
  throw bad(field, "must be one path to a list, such as alerts or data.items");
}

/** Parses the patterns of one template, and enforces its limits on paths and characters. */
class PatternParser {
  #paths = 0;
  #characters = 0;

  parse(field: string, text: unknown): TemplatePattern {
    if (typeof text !== "string") throw bad(field, "must be text");
    checkLength(field, text);
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS) {
      throw bad("template", `is too long: its texts may have at most ${MAX_CHARACTERS} characters in total`);
    }
    const parts: (string | readonly Path[])[] = [];
    let plain = "";
    for (let at = 0; at < text.length; at++) {
      const char = text[at]!;
      if ((char === "{" || char === "}") && text[at + 1] === char) {
        plain += char;
        at += 1;
      } else if (char === "}") {
        throw bad(field, `has a } at character ${at + 1} without a { before it; write }} for a brace`);
      } else if (char === "{") {
        if (plain !== "") parts.push(plain);
        plain = "";
        const { paths, end } = this.#placeholder(field, text, at + 1);
        parts.push(paths);
        at = end;
      } else plain += char;
    }
    if (plain !== "") parts.push(plain);
    return parts;
  }

  /** Parses paths separated by `|`, up to the closing brace. */
  #placeholder(field: string, text: string, start: number): { paths: readonly Path[]; end: number } {
    const paths: Path[] = [];
    let at = start;
    for (;;) {
      const { path, end } = readPath(field, text, skipBlanks(text, at));
      if (++this.#paths > MAX_PATHS) throw bad(field, `is one too many: a template has at most ${MAX_PATHS} paths`);
      paths.push(path);
      at = skipBlanks(text, end);
      if (text[at] === "}") return { paths, end: at };
      if (text[at] !== "|") throw badPath(field, at, text, "a dot, a | or a } is expected");
      at += 1;
    }
  }
}

function readPath(field: string, text: string, start: number): { path: Path; end: number } {
  const steps: string[] = [];
  let at = start;
  for (;;) {
    const found = STEP.exec(text.slice(at, at + MAX_FIELD));
    if (found === null) throw badPath(field, at, text, 'a name is expected; put one with other characters in "');
    steps.push(found.groups?.["quoted"] ?? found.groups?.["bare"] ?? "");
    at += found[0].length;
    if (steps.length > MAX_STEPS) throw badPath(field, at, text, `a path has at most ${MAX_STEPS} names`);
    if (text[at] !== ".") break;
    at += 1;
  }
  const [first = "", ...rest] = steps;
  if (first !== "$" && first !== "$header") return { path: { from: "item", steps }, end: at };
  if (rest.length === 0) throw badPath(field, at, text, `${first} needs a name after it, such as ${first}.name`);
  if (first === "$") return { path: { from: "body", steps: rest }, end: at };
  const name = rest.join(".").toLowerCase();
  if (SECRET_HEADER.test(name)) throw badPath(field, start, text, `the header ${name} may hold a secret`);
  return { path: { from: "header", steps: [name] }, end: at };
}

function checkLength(field: string, text: string): void {
  if (text.length > MAX_FIELD) throw bad(field, `is too long: it may have at most ${MAX_FIELD} characters`);
}

function skipBlanks(text: string, at: number): number {
  let next = at;
  while (text[next] === " ") next += 1;
  return next;
}

function badPath(field: string, at: number, text: string, why: string): LoggiaError {
  const where = at >= text.length ? "at its end" : `at character ${at + 1}`;
  return bad(field, `is wrong ${where}: ${why}`);
}

function bad(field: string, what: string): LoggiaError {
  return new LoggiaError("bad_parameter", `The field ${field} ${what}`);
}
