/** The values of `${name}` in one run of a scenario. */
export type Names = Map<string, string>;

/**
 * Returns `value` with every `${name}` in its texts replaced; `${c*500}` is the character 500
 * times.
 */
export function fill(value: unknown, names: Names): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([^}]+)\}/g, (_, name: string) => {
      const repeated = /^(.)\*(\d+)$/u.exec(name);
      if (repeated !== null) return String(repeated[1]).repeat(Number(repeated[2]));
      const known = names.get(name);
      if (known === undefined) throw new Error(`nothing here is named ${name}`);
      return known;
    });
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, names)]));
}
