import { fold } from "../../../events/text.ts";
import { intersect } from "../../../query/regex/tree.ts";
import type { Assertion, Tree } from "../../../query/regex/tree.ts";
import { requirementOf, treeUnlessTooLarge } from "../../../query/requirements.ts";
import type { Found, Reader, Requirement } from "../../../query/requirements.ts";

/**
 * The index of words, by which the events are found that an expression may match without a look at
 * every text. It holds, of a folded text,
 *
 * - `letters`: each run of letters; what a log says in letters are few different words, so that
 *   asking all of them is cheap;
 * - `digits`: each run of ASCII digits, with the character before it where that is one of ASCII
 *   that shows; these are many, and found by how they begin.
 *
 * An expression that matches a text says something of such runs: `timeout.*id=9[0-9]{3}$` finds
 * texts that hold a run of letters with `timeout` in it, and the run of digits `=9[0-9]{3}`.
 *
 * Invariant: a text that the expression matches meets the condition, but for texts that are {@link
 * isOdd odd}.
 */
export type WordCondition = Requirement<Word>;

/** Some run of that kind is matched as a whole by `expression`, of Lucene's dialect and JavaScript's alike. */
type Word = { readonly kind: "word"; readonly of: Runs; readonly expression: string };

type Runs = "letters" | "digits";

/** The runs of digits in a folded text, separated by blanks, for the index; undefined where there are none. */
export function digitsOf(folded: string): string | undefined {
  return folded.match(/[!-/:-~]?[0-9]+/g)?.join(" ");
}

/**
 * Whether the index of words may hold a folded text otherwise than it is: the engine cuts runs of
 * 255 characters, and of one letter it makes an `i`.
 */
export function isOdd(folded: string): boolean {
  if (folded.includes("\u0130")) return true;
  return folded.length >= LONGEST_RUN && LONG_RUN.test(folded);
}

const LONGEST_RUN = 255;
// oxlint-disable-next-line no-control-regex
const LONG_RUN = /[^\x00-@[-`{-\x7f]{255}|[0-9]{254}/;

/**
 * Found by the index of words: `condition` null where it says nothing. `exact`: the condition holds
 * for no other texts (but odd ones).
 */
export type Words = { readonly condition: WordCondition | null; readonly exact: boolean };

const NOTHING_KNOWN: Words = { condition: null, exact: false };

/** What an RE2 expression, which ignores case, says of the words of a text. */
export function wordsOfExpression(pattern: string): Words {
  const tree = treeUnlessTooLarge(pattern);
  return tree === null ? NOTHING_KNOWN : wordsOf(tree);
}

/** What containing `text`, folded, says of the words of a text. */
export function wordsOfText(text: string): Words {
  const parts = Array.from(text, (character): Tree => {
    const code = character.codePointAt(0)!;
    return { kind: "set", ranges: [code, code] };
  });
  const { condition } = wordsOf(parts.length === 1 ? parts[0]! : { kind: "concat", parts });
  return { condition, exact: condition !== null && isOneRun(text) };
}

function wordsOf(tree: Tree): Words {
  const condition = requirementOf<Word>(tree, readWords);
  const literal = condition === null ? null : literalOf(tree);
  return { condition, exact: literal !== null && isOneRun(literal) };
}

/** Whether a text is found by a condition on one run alone. */
function isOneRun(text: string): boolean {
  return text.length <= MAX_LENGTH && /^(?:[a-z]{3,}|[0-9]{3,})$/.test(text);
}

/** The folded text that a tree stands for, where it matches that in all of its forms and nothing else. */
function literalOf(tree: Tree): string | null {
  const parts = tree.kind === "concat" ? tree.parts : [tree];
  let literal = "";
  for (const part of parts) {
    if (part.kind !== "set") return null;
    const kind = kindOf(part.ranges);
    const one = kind.letters + kind.digits;
    if (one.length !== 1 || runsOf(kind) === null || !hasAllForms(part.ranges, one)) return null;
    literal += one;
  }
  return literal;
}

function hasAllForms(ranges: readonly number[], one: string): boolean {
  return FORMS.get(one)!.every((form) => includes(ranges, form));
}

/** Characters beyond ASCII whose folded form is a letter of ASCII: the long s and the sign of Kelvin. */
const FOLDED_INTO_ASCII = ["\u017f", "\u212a"] as const;

function includes(ranges: readonly number[], code: number): boolean {
  for (let i = 0; i < ranges.length; i += 2) if (code >= ranges[i]! && code <= ranges[i + 1]!) return true;
  return false;
}

/** What a character may be, folded. */
type Kind = {
  /** These of ASCII. */
  readonly letters: string;
  readonly digits: string;
  readonly signs: string;
  /** One of ASCII that does not show, or none, at an end of the text. */
  readonly blank: boolean;
  /** One beyond ASCII. */
  readonly beyond: boolean;
};

const DIGITS = "0123456789";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const UNKNOWN: Kind = { letters: LETTERS, digits: DIGITS, signs: SIGNS, blank: true, beyond: true };
/** An end of the text or of a line. */
const END: Kind = { letters: "", digits: "", signs: "", blank: true, beyond: false };
/**
 * What stands on the other side of a word's edge: for RE2, which knows ASCII alone, also a letter
 * that folds into it.
 */
const BESIDE_WORD: Kind = { letters: "ks", digits: "", signs: SIGNS.replace("_", ""), blank: true, beyond: true };

function kindOf(ranges: readonly number[]): Kind {
  const has = (code: number): boolean => includes(ranges, code);
  let beyond = false;
  for (let i = 0; i < ranges.length; i += 2) {
    const [from, to] = [ranges[i]!, ranges[i + 1]!];
    beyond ||= to > 0x7f && !(from === to && FOLDED_INTO_ASCII.some((form) => form.charCodeAt(0) === from));
  }
  return {
    letters: filter(LETTERS, (letter) => FORMS.get(letter)!.some(has)),
    digits: filter(DIGITS, (digit) => has(digit.charCodeAt(0))),
    signs: filter(SIGNS, (sign) => has(sign.charCodeAt(0))),
    blank: intersect(ranges, BLANK).length > 0,
    beyond,
  };
}

const BLANK: readonly number[] = [0x00, 0x20, 0x7f, 0x7f];

function filter(characters: string, test: (character: string) => boolean): string {
  return Array.from(characters).filter(test).join("");
}

/** By letter or digit of ASCII, the codes of all that is folded into it. */
const FORMS: ReadonlyMap<string, readonly number[]> = new Map(
  Array.from(LETTERS + DIGITS, (character) => {
    const forms = [character, character.toUpperCase(), ...FOLDED_INTO_ASCII.filter((form) => fold(form) === character)];
    return [character, forms.map((form) => form.charCodeAt(0))];
  }),
);

/** The runs that characters of a kind are part of, whichever they are; null where that is not known. */
function runsOf({ letters, digits, signs, blank, beyond }: Kind): Runs | null {
  if (signs !== "" || blank || beyond || (letters === "") === (digits === "")) return null;
  return letters === "" ? "digits" : "letters";
}

/** One of these characters, so many times. */
type Item = { readonly characters: string; readonly min: number; readonly max: number | null };
/** A run that an expression speaks of, or a part of one: its first item is there at least once. */
type Run = { readonly of: Runs; readonly before: Kind; readonly items: Item[] };

/** The longest expression for a word, in characters that it matches: well below the runs that the engine cuts. */
const MAX_LENGTH = 64;
/** Fewer characters somewhere in a run say little and cost much. */
const MIN_LENGTH = 3;

/** Reads the runs of a sequence. */
function readWords(push: (found: Found<Word>) => void): Reader {
  let run: Run | null = null;
  /** What the character before the next part may be, where no run is under way. */
  let before = UNKNOWN;

  function end(after: Kind): void {
    const word = run === null ? null : wordOf(run, after);
    if (word !== null) push(word);
    run = null;
    before = after;
  }
  return {
    take(ranges, min, max) {
      const kind = kindOf(ranges);
      const of = runsOf(kind);
      const item = { characters: kind.letters + kind.digits, min, max };
      if (of !== null && run?.of === of) {
        run.items.push(item);
        return;
      }
      // What may be missing tells neither side anything of the other.
      if (min === 0) return end(UNKNOWN);
      const last = run === null ? before : lastOf(run);
      end(kind);
      if (of !== null) run = { of, before: last, items: [item] };
    },
    assert(what) {
      end(BESIDE[what]);
      if (what === "text-end" || what === "line-end") before = UNKNOWN;
    },
    end: () => end(UNKNOWN),
  };
}

/** What an assertion says of the character on its other side, be that before or after. */
const BESIDE: Readonly<Record<Assertion["what"], Kind>> = {
  "text-start": END,
  "line-start": END,
  "text-end": END,
  "line-end": END,
  "word-edge": BESIDE_WORD,
  "no-word-edge": UNKNOWN,
};

/** What the last character of a run may be. */
function lastOf({ of, items }: Run): Kind {
  const last = items.at(-1)!;
  if (last.min === 0) return UNKNOWN;
  return { letters: "", digits: "", signs: "", blank: false, beyond: false, [of]: last.characters };
}

/** @param after what the character after the run's last item may be */
function wordOf(run: Run, after: Kind): Found<Word> | null {
  const isWhole = after[run.of] === "" && !(run.of === "letters" && after.beyond);
  return wordFromStart(run, isWhole) ?? wordAround(run, isWhole);
}

/** What a run begins with, where the expression says where it begins. */
function wordFromStart({ of, before, items }: Run, isWhole: boolean): Found<Word> | null {
  const start = of === "letters" ? startOfLetters(before) : startOfDigits(before);
  if (start === null) return null;
  let expression = start;
  let length = 0;
  let known = 0;
  let rest = isWhole ? "" : ".*";
  for (const [i, item] of items.entries()) {
    const isFixed = item.min === item.max;
    // Behind what has no fixed length, anything may follow: one item of that kind makes no large automaton, several do.
    if ((!isFixed && i < items.length - 1) || length + (item.max ?? item.min) > MAX_LENGTH) {
      rest = ".*";
      break;
    }
    if (known === length && isFixed && item.characters.length === 1) known += item.min;
    length += item.min;
    expression += print(item);
  }
  const isBehindLetter = /^[a-z]$/.test(start);
  const says =
    of === "digits"
      ? known >= 1 && (length >= 2 || (isBehindLetter && rest === ""))
      : known >= MIN_LENGTH || (known >= 1 && rest === "");
  if (!says) return null;
  // A letter before the digits says as much as one of them.
  const weight = known + (isBehindLetter ? 2 : 1);
  return { condition: { kind: "word", of, expression: expression + rest }, weight, weak: false };
}

/** Whether a run of letters begins behind a character of that kind: "" where it does. */
function startOfLetters({ letters, beyond }: Kind): "" | null {
  return letters === "" && !beyond ? "" : null;
}

/** What a run of digits begins with behind a character of that kind, which belongs to it where it shows. */
function startOfDigits({ letters, digits, signs, blank, beyond }: Kind): string | null {
  if (digits !== "") return null;
  const shown = letters + signs;
  if (shown === "") return "";
  return (shown.length > MAX_CLASS ? NO_DIGIT : printClass(shown)) + (blank || beyond ? "?" : "");
}

/** The longest text that a run holds somewhere. */
function wordAround({ of, items }: Run, isWhole: boolean): Found<Word> | null {
  let longest = "";
  let current = "";
  for (const { characters, min, max } of items) {
    const isKnown = min === max && characters.length === 1;
    if (isKnown) current += characters.repeat(Math.min(min, MAX_LENGTH));
    const cut = current.slice(0, MAX_LENGTH);
    if (cut.length > longest.length) longest = cut;
    if (!isKnown || current.length > MAX_LENGTH) current = "";
  }
  if (longest.length < MIN_LENGTH) return null;
  const rest = isWhole && current === longest ? "" : ".*";
  const condition = { kind: "word", of, expression: `.*${longest}${rest}` } as const;
  return { condition, weight: longest.length, weak: of === "digits" };
}

/** Of more characters before a run, any will do. */
const MAX_CLASS = 8;
const NO_DIGIT = "[^0-9]";

function print({ characters, min, max }: Item): string {
  const one = printClass(characters);
  if (max === null) return min === 0 ? `${one}*` : `${one}{${min},}`;
  if (min === max) return min === 1 ? one : `${one}{${min}}`;
  return `${one}{${min},${max}}`;
}

function printClass(characters: string): string {
  const printed = Array.from(characters, (character) =>
    SIGNS.includes(character) ? `\\${character}` : character,
  ).join("");
  if (characters.length === 1) return printed;
  return `[${printed.replace(DIGITS, "0-9").replace(LETTERS, "a-z")}]`;
}
