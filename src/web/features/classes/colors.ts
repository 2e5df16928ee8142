import { contrast, fromHex, fromOklch, toHex, toOklch } from "./oklch.ts";
import type { Oklch, Rgb } from "./oklch.ts";

export type Scheme = "light" | "dark";

/** `mark` is a bar, a swatch or a part of the histogram; `label` is the name of the class. */
export type ColorRole = "mark" | "label";

/** Backgrounds of class colours: `--paper`, `--wall`, `--well`, `--hover` and `--select`. */
export const SURFACES: Readonly<Record<Scheme, readonly string[]>> = {
  light: ["#ffffff", "#f8f8f9", "#f2f2f4", "#f5f6f8", "#e9f0fe"],
  dark: ["#101113", "#16171a", "#1d1f23", "#191b1e", "#17263f"],
};

/** Slightly above the WCAG minimum for graphics and for text. */
const LEAST_CONTRAST: Readonly<Record<ColorRole, number>> = { mark: 3.02, label: 4.52 };
const MOST_CHROMA: Readonly<Record<ColorRole, number>> = { mark: 0.19, label: 0.17 };
/** Below this chroma a colour is a grey, and stays one. */
const GREY_CHROMA = 0.02;
const LIGHTNESS: Readonly<Record<Scheme, Readonly<Record<ColorRole, readonly [number, number]>>>> = {
  light: { mark: [0.42, 0.75], label: [0.3, 0.6] },
  dark: { mark: [0.45, 0.82], label: [0.6, 0.86] },
};

/** Returns the colour nearest to `given` with enough contrast on every surface of a scheme. */
export function fitColor(given: Rgb, role: ColorRole, scheme: Scheme): string {
  const { l, c, h } = toOklch(given);
  const chroma = c < GREY_CHROMA ? 0 : Math.min(c, MOST_CHROMA[role]);
  const [least, most] = LIGHTNESS[scheme][role];
  const start = Math.min(most, Math.max(least, l));
  const colorAt = (lightness: number): Rgb => fromOklch(turnYellow({ l: lightness, c: chroma, h }, l, scheme));
  const surfaces = SURFACES[scheme].map(fromHex);
  const isSeen = (color: Rgb) => surfaces.every((surface) => contrast(color, surface) >= LEAST_CONTRAST[role]);
  if (isSeen(colorAt(start))) return toHex(colorAt(start));
  let seen = scheme === "light" ? 0 : 1;
  let unseen = start;
  for (let round = 0; round < 20; round++) {
    const middle = (seen + unseen) / 2;
    if (isSeen(colorAt(middle))) seen = middle;
    else unseen = middle;
  }
  return toHex(colorAt(seen));
}

/** Shifts a darkened yellow towards amber; otherwise it would look olive. */
function turnYellow(color: Oklch, given_l: number, scheme: Scheme): Oklch {
  if (scheme === "dark" || color.h <= 85 || color.h >= 125) return color;
  const share = Math.min(1, Math.max(0, (given_l - color.l) / 0.35));
  return { ...color, h: color.h + (78 - color.h) * 0.75 * share };
}

/** Returns the declarations of a class's style rule, for both schemes. */
export function colorDeclarations(color: Rgb): string {
  const pair = (role: ColorRole) => `light-dark(${fitColor(color, role, "light")}, ${fitColor(color, role, "dark")})`;
  return `--mark: ${pair("mark")}; --label: ${pair("label")}`;
}
