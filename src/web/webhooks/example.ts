/** A request as it is typed beside a template. */
export type TypedExample = { readonly body: string; readonly headers: string };

/**
 * Headers as they are typed, one a line.
 * @returns null where a line is none
 */
export function readHeaders(text: string): Readonly<Record<string, string>> | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => /^\s*(?<name>[\w!#$%&'*+.^`|~-]+)\s*:\s*(?<value>.*?)\s*$/.exec(line)?.groups);
  if (pairs.includes(undefined)) return null;
  return Object.fromEntries(pairs.map((pair) => [pair!["name"]!, pair!["value"]!]));
}
