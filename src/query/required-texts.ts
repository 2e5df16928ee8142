import { fold } from "../events/text.ts";
import { regexRequirement, treeUnlessTooLarge } from "./requirements.ts";
import type { WeightedRequirement, SequenceReader, Requirement } from "./requirements.ts";

/** The folded text contains this text. */
export type RequiredText = { readonly kind: "contains"; readonly text: string };

/** Sets with more code points are not case variants of a single letter. */
const MAX_FORMS = 4;
/** Longer texts are not more selective. */
const MAX_LENGTH = 256;

/**
 * Returns the texts contained in every folded text that an RE2 expression, ignoring case, matches.
 * @param least shortest text returned
 * @returns null if there are none
 */
export function requiredTexts(pattern: string, least: number): Requirement<RequiredText> | null {
  const tree = treeUnlessTooLarge(pattern);
  return tree === null ? null : regexRequirement<RequiredText>(tree, (push) => readTexts(push, least));
}

/** Reads runs of characters that are known except for case. */
function readTexts(push: (found: WeightedRequirement<RequiredText>) => void, least: number): SequenceReader {
  let text = "";
  function end(): void {
    if (text.length >= least) {
      push({ condition: { kind: "contains", text }, weight: text.length, weak: false });
    }
    text = "";
  }
  return {
    take(ranges, min, max) {
      const character = onlyCharacter(ranges);
      if (character === null || min === 0) return end();
      const times = character.repeat(Math.min(min, MAX_LENGTH));
      text = (text + times).slice(0, MAX_LENGTH);
      const isCut = min > MAX_LENGTH || text.length === MAX_LENGTH;
      if (isCut) return end();
      if (min === max) return;
      // If the character may repeat more often, only its last occurrences adjoin what follows.
      let kept = text.length;
      while (kept > 0 && text.startsWith(character, kept - character.length)) kept -= character.length;
      const last = text.slice(kept);
      end();
      text = last;
    },
    // An assertion consumes no character, so that its neighbours remain adjacent.
    assert: () => undefined,
    end,
  };
}

/**
 * Returns the ASCII character to which all of the ranges fold, or null. Other characters are
 * excluded: the expressions and the stored texts may fold them by different Unicode tables.
 */
function onlyCharacter(ranges: readonly number[]): string | null {
  let only: string | null = null;
  let count = 0;
  for (let i = 0; i < ranges.length; i += 2) {
    for (let code = ranges[i]!; code <= ranges[i + 1]!; code++) {
      count += 1;
      if (count > MAX_FORMS) return null;
      const folded = fold(String.fromCodePoint(code));
      if (folded > "\x7f" || (only !== null && folded !== only)) return null;
      only = folded;
    }
  }
  return only;
}
