/** CSS colours commonly used for classes, mapped to the nearest terminal colour. */
const NAMED: Readonly<Record<string, number>> = {
  black: 90,
  gray: 90,
  grey: 90,
  silver: 37,
  white: 97,
  red: 31,
  crimson: 31,
  maroon: 31,
  orange: 33,
  gold: 33,
  yellow: 33,
  olive: 33,
  green: 32,
  lime: 92,
  teal: 36,
  cyan: 36,
  aqua: 36,
  blue: 34,
  navy: 34,
  purple: 35,
  violet: 35,
  magenta: 35,
  fuchsia: 35,
  pink: 95,
};
const HEX = /^#(?:([0-9a-f])([0-9a-f])([0-9a-f])|([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2}))$/i;

/** Returns a function that colours text; an unknown CSS colour leaves the text unchanged. */
export function painter(color: string | undefined): (text: string) => string {
  const code = color === undefined ? null : codeOf(color.trim().toLowerCase());
  return code === null ? (text) => text : (text) => `\u001b[${code}m${text}\u001b[39m`;
}

function codeOf(color: string): string | null {
  const named = Object.hasOwn(NAMED, color) ? NAMED[color] : undefined;
  if (named !== undefined) return String(named);
  const digits = HEX.exec(color)
    ?.slice(1)
    .filter((digit) => digit !== undefined);
  if (digits === undefined) return null;
  return `38;2;${digits.map((digit) => parseInt(digit.length === 1 ? digit + digit : digit, 16)).join(";")}`;
}
