import type { RE2JS } from "re2js";

import { compileUnshared } from "./tree.ts";

/** Instructions executed between two pauses; a fraction of a millisecond. */
const STEP = 20_000;
/** Largest search done at once: length of the text times size of the program. */
const MOST_AT_ONCE = 2_000_000;
/** The same limit if caching states does not help. */
const MOST_WITHOUT_STATES = 50_000;
/** Memory for cached states of one expression, and of all expressions of a query. */
const STATES_BYTES = 1024 * 1024;
const STATES_BYTES_OF_ALL = 8 * 1024 * 1024;
/** Caching does not help once more than this many searches, and most of all, exceeded the cache. */
const FEW_SEARCHES = 4;

/**
 * Searches texts for an RE2 expression, with bounds on memory and on uninterrupted work. re2js
 * searches with a cache of DFA states. If they exceed its memory, this class simulates the NFA in
 * steps.
 */
export class ExpressionSearch {
  readonly #expression: RE2JS;
  readonly #program: Program;
  #searches = 0;
  #givenUp = 0;

  /** @param sharers number of expressions of the query */
  constructor(pattern: string, sharers = 1) {
    this.#expression = compileUnshared(pattern);
    const compiled = this.#expression.re2() as unknown as Compiled;
    this.#program = compiled.prog;
    const { dfa } = compiled;
    dfa.stateBudget = dfa.memBudget = Math.min(STATES_BYTES, Math.floor(STATES_BYTES_OF_ALL / sharers));
    compiled.doExecuteNFA = () => {
      throw TOO_MANY_STATES;
    };
  }

  /** Returns whether a text should be searched {@link inSteps in steps}. */
  isLong(text: string): boolean {
    const givesUpOften = this.#givenUp > FEW_SEARCHES && this.#givenUp * 2 > this.#searches;
    return text.length * this.#program.inst.length > (givesUpOften ? MOST_WITHOUT_STATES : MOST_AT_ONCE);
  }

  /** Returns whether the expression matches in a text. Does not pause. */
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

  /** Searches a text as {@link test} does, with a pause after each piece of work. */
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

/** The used parts of a compiled expression of re2js. */
type Compiled = {
  readonly prog: Program;
  readonly dfa: { stateBudget: number; memBudget: number };
  /** Called when the states exceed the cache. */
  doExecuteNFA(): never;
};
type Program = { readonly inst: readonly Instruction[]; readonly start: number };
type Instruction = {
  readonly op: number;
  readonly out: number;
  /** For an alternative, its second branch; for an assertion, the places where it holds. */
  readonly arg: number;
  matchRune(rune: number): boolean;
};

/** Operations of re2js. Those from RUNE on consume a character. */
const ALT = 1;
const ALT_MATCH = 2;
const CAPTURE = 3;
const EMPTY_WIDTH = 4;
const MATCH = 6;
const NOP = 7;
const RUNE = 8;
const RUNE_ANY = 10;
const RUNE_ANY_NOT_NL = 11;

/** The set of active NFA threads, each a position in the program. */
class Threads {
  /** Instructions executed since this was last reset. */
  work = 0;
  readonly #program: Program;
  readonly #waiting: Int32Array;
  #waitingCount = 1;
  /** Threads waiting for a character. */
  readonly #taking: Int32Array;
  #takingCount = 0;
  /** By instruction, the round in which it was last entered. */
  readonly #entered: Int32Array;
  #round = 0;

  constructor(program: Program) {
    const { length } = program.inst;
    this.#program = program;
    // Each instruction leads to at most two others.
    this.#waiting = new Int32Array(3 * length + 1);
    this.#waiting[0] = program.start;
    this.#taking = new Int32Array(length);
    this.#entered = new Int32Array(length);
  }

  /** Advances the threads up to the next character. @returns whether the expression matches here */
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

  /** Consumes a character and starts a new thread after it. */
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

/** Returns the assertions that hold between two characters; -1 is the start or end of the text. */
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
