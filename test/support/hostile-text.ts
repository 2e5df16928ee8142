/**
 * Returns a text of the letters a and b that drives an expression through nearly all of its states.
 */
export function hostileText(seed: number, length: number): string {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 31 === 0 ? "a" : "b";
  }).join("");
}
