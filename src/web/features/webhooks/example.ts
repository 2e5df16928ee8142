/** The example request as it is typed. */
export type TypedExample = { readonly body: string; readonly headers: string };

const NAME = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * Reads headers, one per line.
 * @returns null if a line is not a header
 */
export function readHeaders(text: string): Readonly<Record<string, string>> | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  // Cut by hand: one expression for a line takes quadratic time for blanks within a value.
  const pairs = lines.map((line) => {
    const end = line.indexOf(":");
    return [line.slice(0, Math.max(end, 0)).trim(), line.slice(end + 1).trim()] as const;
  });
  return pairs.every(([name]) => NAME.test(name)) ? Object.fromEntries(pairs) : null;
}
