import { isDeepStrictEqual } from "node:util";

/**
 * Returns where `actual` differs from `expected`, in words; empty if it matches. Objects may have
 * more fields than expected, lists not more items. `$any` matches anything, `$absent` a missing
 * field, `$match <regular expression>` a matching text, `$number` any number.
 */
export function differences(expected: unknown, actual: unknown, path = "the answer"): string[] {
  if (typeof expected === "string" && expected.startsWith("$")) return matchMarker(expected, actual, path);
  if (Array.isArray(expected)) return compareLists(expected, actual, path);
  if (typeof expected === "object" && expected !== null) {
    if (typeof actual !== "object" || actual === null || Array.isArray(actual)) return [differ(path, expected, actual)];
    return Object.entries(expected).flatMap(([name, value]) =>
      differences(value, (actual as Record<string, unknown>)[name], `${path}.${name}`),
    );
  }
  return isDeepStrictEqual(expected, actual) ? [] : [differ(path, expected, actual)];
}

function compareLists(expected: readonly unknown[], actual: unknown, path: string): string[] {
  if (!Array.isArray(actual)) return [differ(path, expected, actual)];
  if (actual.length !== expected.length) {
    return [`${path} has ${actual.length} items instead of ${expected.length}: ${JSON.stringify(actual)}`];
  }
  return expected.flatMap((item, index) => differences(item, actual[index], `${path}[${index}]`));
}

function matchMarker(marker: string, actual: unknown, path: string): string[] {
  const [kind = "", ...rest] = marker.split(" ");
  const holds = (): boolean => {
    switch (kind) {
      case "$any":
        return actual !== undefined;
      case "$absent":
        return actual === undefined;
      case "$number":
        return typeof actual === "number";
      case "$match":
        return typeof actual === "string" && new RegExp(rest.join(" "), "s").test(actual);
      default:
        throw new Error(`${marker} is no marker`);
    }
  };
  return holds() ? [] : [differ(path, marker, actual)];
}

function differ(path: string, expected: unknown, actual: unknown): string {
  return `${path} is ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`;
}
