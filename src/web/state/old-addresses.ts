/** Names in addresses of earlier versions, so that old links keep working. */

/** Renamed parameters. Values that are not listed mean an absent parameter. */
const RENAMED: readonly {
  readonly from: string;
  readonly to: string;
  readonly values: Readonly<Record<string, string>>;
}[] = [
  { from: "v", to: "view", values: { patterns: "patterns" } },
  { from: "o", to: "order", values: { asc: "old" } },
];

/** Renames old parameters in place; returns the same map. */
export function renewedParameters(parameters: Map<string, string>): Map<string, string> {
  for (const { from, to, values } of RENAMED) {
    const value = parameters.get(from);
    if (value === undefined) continue;
    parameters.delete(from);
    if (!parameters.has(to) && Object.hasOwn(values, value)) parameters.set(to, values[value]!);
  }
  return parameters;
}

/** Converts an old path. The event of a context moves to the parameters. */
export function renewedPath(words: readonly string[], parameters: Map<string, string>): readonly string[] {
  const [first = "", second = "", third = ""] = words;
  if (first === "~account") return ["you", ...words.slice(1)];
  if (first === "~inbox" || first === "~bookmarks") return [first.slice(1), ...words.slice(1)];
  if (second === "first-run") return [first, "start"];
  if (second !== "context" || third === "") return words;
  parameters.set("around", third);
  return [first];
}
