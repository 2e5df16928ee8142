import type { Rgb } from "./oklch.ts";

/**
 * Returns a parser of CSS colours, as drawn over white; it returns null for other texts.
 * `CSS.supports` also accepts `var(--x)`, which a canvas rejects.
 */
export function createColorParser(): (text: string) => Rgb | null {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  return (text) => {
    if (context === null || !CSS.supports("color", text)) return null;
    if (!isTaken(context, text)) return null;
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
    return [red / 255, green / 255, blue / 255];
  };
}

/** Reports whether a canvas accepts a colour: a rejected one leaves the previous colour. */
function isTaken(context: OffscreenCanvasRenderingContext2D, text: string): boolean {
  return ["#010203", "#030201"].some((before) => {
    context.fillStyle = before;
    context.fillStyle = text;
    return context.fillStyle !== before;
  });
}
