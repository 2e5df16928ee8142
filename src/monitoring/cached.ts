/**
 * What `produce` says, kept for `life_ms` after it has said so: whoever asks meanwhile gets the
 * same answer. A failure is not kept. So strangers may ask as often as they like, and never two at
 * a time.
 */
export function cached<T>(life_ms: number, produce: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; until_ms: number } | null = null;
  return () => {
    if (last === null || performance.now() >= last.until_ms) {
      const answer = produce();
      const asked = { answer, until_ms: Infinity };
      last = asked;
      answer.then(
        () => (asked.until_ms = performance.now() + life_ms),
        () => (asked.until_ms = 0),
      );
    }
    return last.answer;
  };
}
