import { ABBREVIATION, HALF, MONTH, OFFSET } from "./time-forms.ts";

const WORD = "[a-z]{3,9}";

/** Expressions of the directives of strptime, with the groups of forms of times. */
const DIRECTIVES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Y: String.raw`(?<year>\d{4})`,
    y: String.raw`(?<shortYear>\d\d)`,
    m: String.raw`(?<month>\d{1,2})`,
    b: MONTH,
    B: MONTH,
    d: String.raw`\s?(?<day>\d{1,2})`,
    e: String.raw`\s?(?<day>\d{1,2})`,
    a: WORD,
    A: WORD,
    H: String.raw`\s?(?<hour>\d{1,2})`,
    I: String.raw`\s?(?<hour>\d{1,2})`,
    p: HALF,
    M: String.raw`(?<minute>\d\d)`,
    S: String.raw`(?<second>\d\d)`,
    f: String.raw`(?<fraction>\d{1,9})`,
    z: `(?:${OFFSET}|(?<abbreviation>Z))`,
    Z: ABBREVIATION,
    s: String.raw`(?<epoch>\d{1,11})`,
    "%": "%",
  }),
);

/** Directives that stand for several others. */
const COMBINED: readonly (readonly [string, string])[] = [
  ["%F", "%Y-%m-%d"],
  ["%D", "%m/%d/%y"],
  ["%T", "%H:%M:%S"],
  ["%R", "%H:%M"],
];

/**
 * Compiles a format of strptime, such as `%d/%m/%Y %H:%M:%S`, to an expression with the groups of
 * forms of times.
 *
 * @returns a text that says what is wrong with the format, if anything is
 */
export function compileTimeFormat(format: string): RegExp | string {
  const whole = COMBINED.reduce((text, [short, long]) => text.replaceAll(short, long), format.trim());
  let expression = "";
  for (const [token] of whole.matchAll(/%.?|\s+|[^%\s]+/gsu)) {
    if (/^\s/.test(token)) expression += String.raw`\s+`;
    else if (!token.startsWith("%")) expression += RegExp.escape(token);
    else {
      const directive = DIRECTIVES.get(token.slice(1));
      if (directive === undefined) return `there is no ${token}; there are ${known()}`;
      expression += directive;
    }
  }
  const has = (group: string): boolean => expression.includes(`(?<${group}>`);
  if (!has("epoch") && !(has("day") && (has("month") || has("name")))) return "it has no day and month, nor %s";
  try {
    return new RegExp(`^${expression}$`, "iu");
  } catch {
    return "it has a directive twice";
  }
}

function known(): string {
  return [...COMBINED.map(([short]) => short), ...[...DIRECTIVES.keys()].map((name) => `%${name}`)].join(" ");
}
