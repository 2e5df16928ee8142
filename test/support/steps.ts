/** Runs steps to their end without pauses, and returns their result. */
export function resultOf<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
