import { fold } from "../../../events/text.ts";
import { intersect } from "../../../query/regex/tree.ts";
import type { Assertion, Tree } from "../../../query/regex/tree.ts";
import { regexRequirement, treeUnlessTooLarge } from "../../../query/requirements.ts";
import type { WeightedRequirement, SequenceReader, Requirement } from "../../../query/requirements.ts";

/**
 * Conditions on the index of words, which finds the events that an expression may match without
 * reading every text. The index holds, for a folded text:
 *
 * - `letters`: each run of letters. Logs use few different words, so searching all of them is
 *   cheap.
 * - `digits`: each run of ASCII digits, with the character before it if that is printable ASCII.
 *   There are many of these, and they are found by prefix.
 *
 * Data is indexed in the same way, but as posted: the engine turns capitals into small letters.
 *
 * An expression implies conditions on such runs: `timeout.*id=9[0-9]{3}$` finds texts with a run of
 * letters that contains `timeout`, and the run of digits `=9[0-9]{3}`.
 *
 * Invariant: a text that the expression matches meets the condition, except for texts that are
 * {@link isOdd odd}.
 */
export type WordCondition = Requirement<Word>;

/** A run of that kind matches `expression` as a whole, in Lucene's and JavaScript's dialect. */
type Word = { readonly kind: "word"; readonly of: Runs; readonly expression: string };

type Runs = "letters" | "digits";

/** Returns the runs of digits of a folded text for the index, or undefined if there are none. */
export function digitWord(folded: string): string | undefined {
  return folded.match(/[!-/:-~]?[0-9]+/g)?.join(" ");
}

/**
 * Returns the different runs of digits of data for the index, as {@link digitWord} a folded text, or
 * undefined if there are none. Data is not folded, see {@link isOddData}.
 */
export function digitsOfData(data: string): string | undefined {
  const runs = data.match(/[!-/:-~]?[0-9]+/g);
  return runs === null ? undefined : Array.from(new Set(runs.map((run) => run.toLowerCase()))).join(" ");
}

/**
 * Whether the index of words may tokenize a folded text differently: the engine splits runs at 255
 * characters and changes U+0130 to `i`.
 */
export function isOdd(folded: string): boolean {
  if (folded.includes("\u0130")) return true;
  return folded.length >= MAX_TOKEN_LENGTH && LONG_RUN.test(folded);
}

/**
 * Whether the index of words may tokenize data differently than its folded form: for the reasons of
 * {@link isOdd}, or because it has other letters that fold to ASCII than the engine knows.
 */
export function isOddData(data: string): boolean {
  return isOdd(data) || FOLDED_INTO_ASCII.some((form) => data.includes(form));
}

const MAX_TOKEN_LENGTH = 255;
/** The assertions let the search start at the first character of a run only. */
// oxlint-disable-next-line no-control-regex
const LONG_RUN = /(?<![^\x00-@[-`{-\x7f])[^\x00-@[-`{-\x7f]{255}|(?<![0-9])[0-9]{254}/;

/**
 * Result of the analysis. `condition` is null if words imply nothing. `exact` means that no other
 * texts meet the condition, except odd ones.
 */
export type CompiledWords = { readonly condition: WordCondition | null; readonly exact: boolean };

const NOTHING_KNOWN: CompiledWords = { condition: null, exact: false };

/** Returns what an RE2 expression, which ignores case, implies about the words of a text. */
export function wordsOfExpression(pattern: string): CompiledWords {
  const tree = treeUnlessTooLarge(pattern);
  return tree === null ? NOTHING_KNOWN : wordsOf(tree);
}

/** Returns what containing a folded `text` implies about the words of a text. */
export function wordsOfText(text: string): CompiledWords {
  const parts = Array.from(text, (character): Tree => {
    const code = character.codePointAt(0)!;
    return { kind: "set", ranges: [code, code] };
  });
  const { condition } = wordsOf(parts.length === 1 ? parts[0]! : { kind: "concat", parts });
  return { condition, exact: condition !== null && isOneRun(text) };
}

function wordsOf(tree: Tree): CompiledWords {
  const condition = regexRequirement<Word>(tree, readWords);
  const literal = condition === null ? null : literalOf(tree);
  return { condition, exact: literal !== null && isOneRun(literal) };
}

/** Whether a condition on a single run decides if a text is contained. */
function isOneRun(text: string): boolean {
  return text.length <= MAX_LENGTH && /^(?:[a-z]{3,}|[0-9]{3,})$/.test(text);
}

/** Returns the folded text whose forms, all of them and nothing else, a tree matches, or null. */
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

/** Non-ASCII characters that fold to ASCII letters: the long s and the Kelvin sign. */
const FOLDED_INTO_ASCII = ["\u017f", "\u212a"] as const;

function includes(ranges: readonly number[], code: number): boolean {
  for (let i = 0; i < ranges.length; i += 2) if (code >= ranges[i]! && code <= ranges[i + 1]!) return true;
  return false;
}

/** The possible values of a folded character. */
type Kind = {
  /** ASCII characters by group. */
  readonly letters: string;
  readonly digits: string;
  readonly signs: string;
  /** An unprintable ASCII character or a blank, or none at an end of the text. */
  readonly blank: boolean;
  /** A non-ASCII character. */
  readonly beyond: boolean;
};

const DIGITS = "0123456789";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const UNKNOWN: Kind = { letters: LETTERS, digits: DIGITS, signs: SIGNS, blank: true, beyond: true };
/** The end of a text or line. */
const END: Kind = { letters: "", digits: "", signs: "", blank: true, beyond: false };
/**
 * The non-word character at a word edge. RE2's word characters are ASCII, so it may be a non-ASCII
 * letter that folds to ASCII.
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

/** By ASCII letter or digit, the codes of all characters that fold to it. */
const FORMS: ReadonlyMap<string, readonly number[]> = new Map(
  Array.from(LETTERS + DIGITS, (character) => {
    const forms = [character, character.toUpperCase(), ...FOLDED_INTO_ASCII.filter((form) => fold(form) === character)];
    return [character, forms.map((form) => form.charCodeAt(0))];
  }),
);

/** Returns the runs that all characters of a kind belong to, or null if that is not certain. */
function runsOf({ letters, digits, signs, blank, beyond }: Kind): Runs | null {
  if (signs !== "" || blank || beyond || (letters === "") === (digits === "")) return null;
  return letters === "" ? "digits" : "letters";
}

/** One of these characters, repeated. */
type Item = { readonly characters: string; readonly min: number; readonly max: number | null };
/** A run, or a part of one, in an expression. Its first item occurs at least once. */
type Run = { readonly of: Runs; readonly before: Kind; readonly items: Item[] };

/** Maximum length of a word's match, well below the length at which the engine splits runs. */
const MAX_LENGTH = 64;
/** Minimum length of a text inside a run. Shorter ones find too much and cost too much. */
const MIN_LENGTH = 3;

/** Creates a reader that collects the runs of a sequence. */
function readWords(push: (found: WeightedRequirement<Word>) => void): SequenceReader {
  let run: Run | null = null;
  /** The possible values of the character before the next part, outside a run. */
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
      // Across an optional part, neither side implies anything about the other.
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

/** What an assertion implies about the character before or after it. */
const BESIDE: Readonly<Record<Assertion["what"], Kind>> = {
  "text-start": END,
  "line-start": END,
  "text-end": END,
  "line-end": END,
  "word-edge": BESIDE_WORD,
  "no-word-edge": UNKNOWN,
};

/** Returns the possible values of the last character of a run. */
function lastOf({ of, items }: Run): Kind {
  const last = items.at(-1)!;
  if (last.min === 0) return UNKNOWN;
  return { letters: "", digits: "", signs: "", blank: false, beyond: false, [of]: last.characters };
}

/** @param after possible values of the character after the run's last item */
function wordOf(run: Run, after: Kind): WeightedRequirement<Word> | null {
  const isWhole = after[run.of] === "" && !(run.of === "letters" && after.beyond);
  return wordFromStart(run, isWhole) ?? wordAround(run, isWhole);
}

/** Returns a condition on the start of a run, or null if the expression does not determine it. */
function wordFromStart({ of, before, items }: Run, isWhole: boolean): WeightedRequirement<Word> | null {
  const start = of === "letters" ? startOfLetters(before) : startOfDigits(before);
  if (start === null) return null;
  let expression = start;
  let length = 0;
  let known = 0;
  let rest = isWhole ? "" : ".*";
  for (const [i, item] of items.entries()) {
    const isFixed = item.min === item.max;
    // Anything may follow an item of variable length: several of these would need a large
    // automaton.
    if ((!isFixed && i < items.length - 1) || length + (item.max ?? item.min) > MAX_LENGTH) {
      rest = ".*";
      break;
    }
    if (known === length && isFixed && item.characters.length === 1) known += item.min;
    length += item.min;
    expression += print(item);
  }
  const isBehindLetter = /^[a-z]$/.test(start);
  const isSelective =
    of === "digits"
      ? known >= 1 && (length >= 2 || (isBehindLetter && rest === ""))
      : known >= MIN_LENGTH || (known >= 1 && rest === "");
  if (!isSelective) return null;
  // A letter before the digits is as selective as a digit.
  const weight = known + (isBehindLetter ? 2 : 1);
  return { condition: { kind: "word", of, expression: expression + rest }, weight, weak: false };
}

/** Returns "" if a run of letters starts after a character of that kind, else null. */
function startOfLetters({ letters, beyond }: Kind): "" | null {
  return letters === "" && !beyond ? "" : null;
}

/**
 * Returns the expression for the character before a run of digits, which is part of the indexed
 * word if it is printable, or null if it may be a digit.
 */
function startOfDigits({ letters, digits, signs, blank, beyond }: Kind): string | null {
  if (digits !== "") return null;
  const shown = letters + signs;
  if (shown === "") return "";
  return (shown.length > MAX_CLASS ? NO_DIGIT : printClass(shown)) + (blank || beyond ? "?" : "");
}

/** Returns a condition on the longest known text inside a run, or null if that is too short. */
function wordAround({ of, items }: Run, isWhole: boolean): WeightedRequirement<Word> | null {
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

/** Maximum number of possible characters before a run; with more, any non-digit matches. */
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
