/** The example request as it is typed. */
export type TypedExample = { readonly body: string; readonly headers: string };

/**
 * Reads headers, one per line.
 * @returns null if a line is not a header
 */
export function readHeaders(text: string): Readonly<Record<string, string>> | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => /^\s*(?<name>[\w!#$%&'*+.^`|~-]+)\s*:\s*(?<value>.*?)\s*$/.exec(line)?.groups);
  if (pairs.includes(undefined)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair!["name"]!, pair!["value"]!]));
}
