import type { Rgb } from "./oklch.ts";

/**
 * Any CSS colour as the browser draws it over white; null where it is none. `CSS.supports` takes
 * `var(--x)` too, which a canvas refuses.
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

/** A colour that a canvas refuses leaves the one that was there. */
function isTaken(context: OffscreenCanvasRenderingContext2D, text: string): boolean {
  return ["#010203", "#030201"].some((before) => {
    context.fillStyle = before;
    context.fillStyle = text;
    return context.fillStyle !== before;
  });
}
