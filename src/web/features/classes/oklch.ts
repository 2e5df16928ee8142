/** An sRGB colour, each channel from 0 to 1. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** Lightness from 0 to 1, chroma, and hue in degrees. */
export type Oklch = { readonly l: number; readonly c: number; readonly h: number };

/** Converts to Björn Ottosson's OKLab in polar form. */
export function toOklch(rgb: Rgb): Oklch {
  const [r, g, b] = rgb.map(linearOf) as unknown as Rgb;
  const long = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const medium = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const short = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const l = 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short;
  const a = 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short;
  const bb = 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short;
  const h = (Math.atan2(bb, a) * 180) / Math.PI;
  return { l, c: Math.hypot(a, bb), h: h < 0 ? h + 360 : h };
}

/** Returns the sRGB colour of this lightness and hue, with the chroma reduced to fit the gamut. */
export function fromOklch({ l, c, h }: Oklch): Rgb {
  const whole = unclamped({ l, c, h });
  if (isInGamut(whole)) return clamped(whole);
  let low = 0;
  let high = c;
  for (let round = 0; round < 20; round++) {
    const middle = (low + high) / 2;
    if (isInGamut(unclamped({ l, c: middle, h }))) low = middle;
    else high = middle;
  }
  return clamped(unclamped({ l, c: low, h }));
}

/** Returns the contrast of WCAG 2, from 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

export function toHex(rgb: Rgb): string {
  return `#${rgb.map((channel) => byteOf(channel).toString(16).padStart(2, "0")).join("")}`;
}

export function fromHex(hex: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as Rgb;
}

function luminance(rgb: Rgb): number {
  const [r, g, b] = rgb.map(linearOf) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function unclamped({ l, c, h }: Oklch): Rgb {
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear: Rgb = [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ];
  return linear.map(encodedOf) as unknown as Rgb;
}

function isInGamut(rgb: Rgb): boolean {
  return rgb.every((channel) => channel >= -0.0005 && channel <= 1.0005);
}

/** Rounds to the displayed bytes, so that contrasts match the screen. */
function clamped(rgb: Rgb): Rgb {
  return rgb.map((channel) => byteOf(channel) / 255) as unknown as Rgb;
}

function byteOf(channel: number): number {
  return Math.round(Math.min(1, Math.max(0, channel)) * 255);
}

function linearOf(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

function encodedOf(channel: number): number {
  return channel <= 0.0031308 ? channel * 12.92 : 1.055 * channel ** (1 / 2.4) - 0.055;
}
