/** A part of an expression, as far as it decides which texts cost the most. */
type Node =
  | { readonly kind: "set"; readonly samples: readonly string[] }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly options: readonly Node[] }
  | { readonly kind: "look"; readonly body: Node }
  | { readonly kind: "repeat"; readonly body: Node; readonly min: number; readonly max: number };

/** How a text that is expensive for an expression is built: `head`, then `unit` again and again, then `tail`. */
export type Attack = { readonly head: string; readonly unit: string; readonly tail: string };

/** Repeats of fewer times than this can't make an expression slow. */
const LEAST_REPEATS = 16;
const MOST_SAMPLES = 3;
const MOST_CHARACTERS = 10;
/** Ends that no or few expressions accept. */
const TAILS = ["", "\u0000", "\n", "!", "x"];
const CANDIDATES = ["a", "0", " ", "-", ".", "\n", "\t", "Z", "é", "\u2028", "😀", ...printable()];

function printable(): string[] {
  return Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i));
}

/**
 * Returns texts that may take an expression more than linear time: each of its repeated parts
 * repeated, after what the expression needs before it; and its characters, alone and in pairs.
 */
export function attacksOn(expression: RegExp): Attack[] {
  const tree = new ExpressionParser(expression).parse();
  const attacks = new Map<string, Attack>();
  const add = (head: string, unit: string, tails: readonly string[] = TAILS): void => {
    if (unit === "") return;
    for (const tail of tails) attacks.set(JSON.stringify([head, unit, tail]), { head, unit, tail });
  };
  const repeats: { readonly heads: readonly string[]; readonly units: readonly string[] }[] = [];
  collectRepeats(tree, [""], repeats);
  for (const { heads, units } of repeats) {
    for (const head of heads) {
      for (const unit of units) {
        add(head, unit);
        add(`\u0000${head}`, unit, ["\u0000"]);
        add("", head + unit);
      }
      add("", head);
    }
  }
  for (const whole of samplesOf(tree)) add("", whole);
  const characters = charactersOf(tree);
  for (const first of characters) {
    add("", first);
    for (const second of characters) if (second !== first) add("", first + second, ["", "\u0000"]);
  }
  return [...attacks.values()];
}

/** Returns the text of an attack, of about this length. */
export function textOfAttack({ head, unit, tail }: Attack, length: number): string {
  return head + unit.repeat(Math.ceil(length / unit.length)) + tail;
}

function collectRepeats(
  node: Node,
  heads: readonly string[],
  repeats: { readonly heads: readonly string[]; readonly units: readonly string[] }[],
): void {
  switch (node.kind) {
    case "set":
      return;
    case "look":
      return collectRepeats(node.body, heads, repeats);
    case "choice":
      for (const option of node.options) collectRepeats(option, heads, repeats);
      return;
    case "sequence": {
      let before = heads;
      for (const part of node.parts) {
        collectRepeats(part, before, repeats);
        before = joined(before, samplesOf(part));
      }
      return;
    }
    case "repeat":
      if (node.max >= LEAST_REPEATS) repeats.push({ heads, units: samplesOf(node.body) });
      return collectRepeats(node.body, heads, repeats);
  }
  throw node satisfies never;
}

/** Returns short texts that a part matches. */
function samplesOf(node: Node): readonly string[] {
  switch (node.kind) {
    case "set":
      return node.samples.slice(0, MOST_SAMPLES);
    case "look":
      return [""];
    case "choice":
      return few(node.options.flatMap((option) => samplesOf(option).slice(0, 2)));
    case "sequence":
      return node.parts.reduce<readonly string[]>((before, part) => joined(before, samplesOf(part)), [""]);
    case "repeat":
      if (node.max === 0) return [""];
      return few([
        ...(node.min === 0 ? [""] : []),
        ...samplesOf(node.body).map((one) => one.repeat(Math.max(1, node.min))),
      ]);
  }
  throw node satisfies never;
}

function joined(before: readonly string[], after: readonly string[]): readonly string[] {
  return few(before.flatMap((head) => after.map((tail) => head + tail)));
}

function few(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].slice(0, 2 * MOST_SAMPLES);
}

function charactersOf(node: Node, into = new Set<string>()): readonly string[] {
  if (node.kind === "set") for (const sample of node.samples.slice(0, MOST_SAMPLES)) into.add(sample);
  else if (node.kind === "sequence") for (const part of node.parts) charactersOf(part, into);
  else if (node.kind === "choice") for (const option of node.options) charactersOf(option, into);
  else charactersOf(node.body, into);
  return [...into].slice(0, MOST_CHARACTERS);
}

/** Parses the source of a valid expression of JavaScript. */
class ExpressionParser {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;

  constructor({ source, flags }: RegExp) {
    this.#source = source;
    this.#flags = flags.replace(/[gydm]/g, "");
  }

  parse(): Node {
    const tree = this.#choice();
    if (this.#at !== this.#source.length) throw new Error(`cannot parse /${this.#source}/ from ${this.#at} on`);
    return tree;
  }

  #choice(): Node {
    const options = [this.#sequence()];
    while (this.#takes("|")) options.push(this.#sequence());
    return options.length === 1 ? options[0]! : { kind: "choice", options };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#source.length && this.#source[this.#at] !== "|" && this.#source[this.#at] !== ")") {
      const atom = this.#atom();
      parts.push(this.#repeated(atom));
    }
    return { kind: "sequence", parts };
  }

  #repeated(body: Node): Node {
    const [written, symbol, from, comma, to] =
      /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.#source.slice(this.#at, this.#at + 20)) ?? [];
    if (written === undefined) return body;
    this.#at += written.length;
    if (symbol !== undefined)
      return { kind: "repeat", body, min: symbol === "+" ? 1 : 0, max: symbol === "?" ? 1 : Infinity };
    const min = Number(from);
    return { kind: "repeat", body, min, max: comma === undefined ? min : to === "" ? Infinity : Number(to) };
  }

  #atom(): Node {
    const char = this.#source[this.#at]!;
    if (char === "(") return this.#group();
    if (char === "[") return this.#set(this.#classEnd());
    if (char === "^" || char === "$") return this.#nothing(1);
    if (char !== "\\") return this.#set(this.#at + String.fromCodePoint(this.#source.codePointAt(this.#at)!).length);
    const [escape] = /^\\(?:u\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|\d+|.)/iu.exec(
      this.#source.slice(this.#at, this.#at + 60),
    )!;
    if (/^\\(?:[bB]|k<.*|[1-9]\d*)$/.test(escape)) return this.#nothing(escape.length);
    return this.#set(this.#at + escape.length);
  }

  #group(): Node {
    const [opening] = /^\((?:\?(?:<?[=!]|[-a-z]*:|<[^>]*>))?/.exec(this.#source.slice(this.#at, this.#at + 60))!;
    this.#at += opening.length;
    const body = this.#choice();
    if (!this.#takes(")")) throw new Error(`a group of /${this.#source}/ has no end`);
    return /[=!]$/.test(opening) ? { kind: "look", body } : body;
  }

  #classEnd(): number {
    let depth = 0;
    for (let at = this.#at; ; at++) {
      if (this.#source[at] === "\\") at += 1;
      else if (this.#source[at] === "[" && (depth === 0 || this.#flags.includes("v"))) depth += 1;
      else if (this.#source[at] === "]" && --depth === 0) return at + 1;
    }
  }

  #set(end: number): Node {
    const one = new RegExp(`^${this.#source.slice(this.#at, end)}$`, this.#flags);
    this.#at = end;
    return { kind: "set", samples: CANDIDATES.filter((candidate) => one.test(candidate)) };
  }

  #nothing(length: number): Node {
    this.#at += length;
    return { kind: "sequence", parts: [] };
  }

  #takes(char: string): boolean {
    if (this.#source[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }
}
