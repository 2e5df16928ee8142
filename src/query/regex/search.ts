import type { RE2JS } from "re2js";

import { compileAnew } from "./tree.ts";

/** Work between two pauses, in instructions looked at: some tenths of a millisecond. */
const STEP = 20_000;
/** Searches that may cost more than this are done in steps: length of the text times size of the program. */
const MOST_AT_ONCE = 2_000_000;
/** The same where remembering states is of no use. */
const MOST_WITHOUT_STATES = 50_000;
/** What one expression, and all of a question, may remember of the states that they were in. */
const STATES_BYTES = 1024 * 1024;
const STATES_BYTES_OF_ALL = 8 * 1024 * 1024;
/** Remembering is of no use once so many searches had to go without, and these were most of all. */
const FEW_SEARCHES = 4;

/**
 * An RE2 expression that is looked for in texts, with bounds on memory and on what is done at a
 * time. re2js searches by states that it remembers. Where these are too many, the program is run
 * here on all of its threads side by side, in steps.
 */
export class ExpressionSearch {
  readonly #expression: RE2JS;
  readonly #program: Program;
  #searches = 0;
  #givenUp = 0;

  /** @param sharers how many expressions the question has */
  constructor(pattern: string, sharers = 1) {
    this.#expression = compileAnew(pattern);
    const compiled = this.#expression.re2() as unknown as Compiled;
    this.#program = compiled.prog;
    const { dfa } = compiled;
    dfa.stateBudget = dfa.memBudget = Math.min(STATES_BYTES, Math.floor(STATES_BYTES_OF_ALL / sharers));
    compiled.doExecuteNFA = () => {
      throw TOO_MANY_STATES;
    };
  }

  /** Whether a text is to be searched {@link inSteps in steps}. */
  isLong(text: string): boolean {
    const isHopeless = this.#givenUp > FEW_SEARCHES && this.#givenUp * 2 > this.#searches;
    return text.length * this.#program.inst.length > (isHopeless ? MOST_WITHOUT_STATES : MOST_AT_ONCE);
  }

  /** Whether the expression is found in a text; at once, however long that takes. */
  test(text: string): boolean {
    if (!this.isLong(text)) {
      this.#searches += 1;
      try {
        return this.#expression.test(text);
      } catch (error) {
        if (error !== TOO_MANY_STATES) throw error;
        this.#givenUp += 1;
      }
    }
    const steps = this.inSteps(text);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** The same, with a pause after each piece of the work. */
  *inSteps(text: string): Generator<void, boolean, void> {
    const threads = new Threads(this.#program);
    let before = -1;
    for (let at = 0; ;) {
      const rune = text.codePointAt(at) ?? -1;
      if (threads.enter(placesBetween(before, rune))) return true;
      if (rune === -1) return false;
      threads.take(rune);
      at += rune > 0xffff ? 2 : 1;
      before = rune;
      if (threads.work < STEP) continue;
      threads.work = 0;
      yield;
    }
  }
}

const TOO_MANY_STATES = new Error("the expression has too many states to remember");

/** What we use of a compiled expression of re2js. */
type Compiled = {
  readonly prog: Program;
  readonly dfa: { stateBudget: number; memBudget: number };
  /** The search where states get too many. */
  doExecuteNFA(): never;
};
type Program = { readonly inst: readonly Instruction[]; readonly start: number };
type Instruction = {
  readonly op: number;
  readonly out: number;
  /** Of an alternative, the other way; of an assertion, the places where it holds. */
  readonly arg: number;
  matchRune(rune: number): boolean;
};

/** Operations of re2js; those from RUNE on take a character. */
const ALT = 1;
const ALT_MATCH = 2;
const CAPTURE = 3;
const EMPTY_WIDTH = 4;
const MATCH = 6;
const NOP = 7;
const RUNE = 8;
const RUNE_ANY = 10;
const RUNE_ANY_NOT_NL = 11;

/** Where in the program a search may be, each place once. */
class Threads {
  /** Instructions looked at since this was last set. */
  work = 0;
  readonly #program: Program;
  readonly #waiting: Int32Array;
  #waitingCount = 1;
  /** Threads that take a character. */
  readonly #taking: Int32Array;
  #takingCount = 0;
  /** By instruction, the round in which it was last entered. */
  readonly #entered: Int32Array;
  #round = 0;

  constructor(program: Program) {
    const { length } = program.inst;
    this.#program = program;
    // Each instruction that is entered leads to two others at most.
    this.#waiting = new Int32Array(3 * length + 1);
    this.#waiting[0] = program.start;
    this.#taking = new Int32Array(length);
    this.#entered = new Int32Array(length);
  }

  /** Goes on up to the next character. @returns whether the expression is found there */
  enter(places: number): boolean {
    const { inst } = this.#program;
    const [waiting, taking, entered] = [this.#waiting, this.#taking, this.#entered];
    const round = ++this.#round;
    let takingCount = 0;
    let count = this.#waitingCount;
    while (count > 0) {
      const at = waiting[--count]!;
      this.work += 1;
      if (entered[at] === round) continue;
      entered[at] = round;
      const { op, out, arg } = inst[at]!;
      if (op >= RUNE) taking[takingCount++] = at;
      else if (op === ALT || op === ALT_MATCH) {
        waiting[count++] = arg;
        waiting[count++] = out;
      } else if (op === CAPTURE || op === NOP || (op === EMPTY_WIDTH && (arg & ~places) === 0)) waiting[count++] = out;
      else if (op === MATCH) return true;
    }
    this.#takingCount = takingCount;
    return false;
  }

  /** Goes over a character; a search may also begin behind it. */
  take(rune: number): void {
    const { inst, start } = this.#program;
    const [waiting, taking] = [this.#waiting, this.#taking];
    let count = 0;
    for (let i = 0; i < this.#takingCount; i++) {
      const instruction = inst[taking[i]!]!;
      const { op } = instruction;
      const takes = op < RUNE_ANY ? instruction.matchRune(rune) : op !== RUNE_ANY_NOT_NL || rune !== 0x0a;
      if (takes) waiting[count++] = instruction.out;
    }
    waiting[count++] = start;
    this.work += this.#takingCount;
    this.#waitingCount = count;
  }
}

const LINE_START = 1;
const LINE_END = 2;
const TEXT_START = 4;
const TEXT_END = 8;
const WORD_EDGE = 16;
const NO_WORD_EDGE = 32;

/** The assertions that hold between two characters; -1: there is none. */
function placesBetween(before: number, after: number): number {
  return (
    (before === -1 ? TEXT_START | LINE_START : before === 0x0a ? LINE_START : 0) |
    (after === -1 ? TEXT_END | LINE_END : after === 0x0a ? LINE_END : 0) |
    (isWord(before) === isWord(after) ? NO_WORD_EDGE : WORD_EDGE)
  );
}

function isWord(rune: number): boolean {
  return (
    (rune >= 0x61 && rune <= 0x7a) || (rune >= 0x41 && rune <= 0x5a) || (rune >= 0x30 && rune <= 0x39) || rune === 0x5f
  );
}
