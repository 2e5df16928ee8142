import { fold } from "../events/text.ts";
import { requirementOf, treeUnlessTooLarge } from "./requirements.ts";
import type { Found, Reader, Requirement } from "./requirements.ts";

/** The folded text contains this one. */
export type RequiredText = { readonly kind: "contains"; readonly text: string };

/** A set of more code points than this is no letter in its cases. */
const MAX_FORMS = 4;
/** Longer ones say no more. */
const MAX_LENGTH = 256;

/**
 * The texts that a folded text contains wherever it is matched by an RE2 expression, which ignores case.
 * @param least shorter ones are left out
 * @returns null where it says nothing of such texts
 */
export function requiredTexts(pattern: string, least: number): Requirement<RequiredText> | null {
  const tree = treeUnlessTooLarge(pattern);
  return tree === null ? null : requirementOf<RequiredText>(tree, (push) => readTexts(push, least));
}

/** Reads the runs of characters of which each is known but for its case. */
function readTexts(push: (found: Found<RequiredText>) => void, least: number): Reader {
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
      // Of more of them, as many of the last ones stand beside what follows.
      let kept = text.length;
      while (kept > 0 && text.startsWith(character, kept - character.length)) kept -= character.length;
      const last = text.slice(kept);
      end();
      text = last;
    },
    // It takes no character: what stands before it and behind it stays side by side.
    assert: () => undefined,
    end,
  };
}

/**
 * The character of ASCII to which all of some ranges are folded, or null. Of others, what expressions and
 * stored texts take for cases of one letter may have come from different tables of Unicode.
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
