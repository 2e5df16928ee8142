/**
 * Caches the result of `produce` for `life_ms`. Calls meanwhile, and while it runs, share one
 * promise. Failures are not cached. So frequent requests add no load, and calls never overlap.
 */
export function cached<T>(life_ms: number, produce: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; until_ms: number } | null = null;
  return () => {
    if (last === null || performance.now() >= last.until_ms) {
      const answer = produce();
      const entry = { answer, until_ms: Infinity };
      last = entry;
      answer.then(
        () => (entry.until_ms = performance.now() + life_ms),
        () => (entry.until_ms = 0),
      );
    }
    return last.answer;
  };
}
