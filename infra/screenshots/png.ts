import { crc32, deflateSync, inflateSync } from "node:zlib";

/**
 * Shrinks a PNG of a page to a palette of at most 256 colours. Other colours are replaced by the
 * nearest one of the palette, without a visible difference.
 */

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLORS = 256;
const MOST_FREQUENT = 64;
/** Smallest distances between colours of the palette, one per pass. */
const APART = [48, 24, 12, 6, 1] as const;

type Image = { readonly width: number; readonly height: number; readonly colors: Uint32Array };

export function shrinkPng(png: Buffer): Buffer {
  const { width, height, colors } = readPng(png);
  const palette = paletteOf(colors);
  const indexOf = new Map(palette.map((color, index) => [color, index]));
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const color = colors[y * width + x]!;
      let index = indexOf.get(color);
      if (index === undefined) indexOf.set(color, (index = nearest(palette, color)));
      lines[y * (width + 1) + 1 + x] = index;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const entries = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", entries),
    chunk("IDAT", deflateSync(lines, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/**
 * Returns the most frequent colours, then those that differ most from the others, so that a small
 * mark in a colour of its own keeps it.
 */
function paletteOf(colors: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  for (const color of colors) counts.set(color, (counts.get(color) ?? 0) + 1);
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1]).map(([color]) => color);
  const palette = sorted.slice(0, MOST_FREQUENT);
  for (const apart of APART) {
    for (const color of sorted) {
      if (palette.length === MOST_COLORS) return palette;
      if (distanceOf(palette[nearest(palette, color)]!, color) >= apart * apart) palette.push(color);
    }
  }
  return palette;
}

function nearest(palette: readonly number[], color: number): number {
  let best = 0;
  let least = Infinity;
  palette.forEach((other, index) => {
    const distance = distanceOf(other, color);
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}

/** Returns the squared distance of two colours. */
function distanceOf(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red * red + green * green + blue * blue;
}

/** Decodes a PNG as browsers write it: 8-bit RGB or RGBA, not interlaced. */
function readPng(png: Buffer): Image {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = { 2: 3, 6: 4 }[png[25]!];
  if (png[24] !== 8 || channels === undefined || png[28] !== 0)
    throw new Error("Only 8-bit RGB and RGBA PNGs without interlacing can be read");
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const bytes = unfilter(inflateSync(Buffer.concat(parts)), { stride: width * channels, height, channels });
  const colors = new Uint32Array(width * height);
  for (let i = 0; i < colors.length; i++)
    colors[i] = (bytes[i * channels]! << 16) | (bytes[i * channels + 1]! << 8) | bytes[i * channels + 2]!;
  return { width, height, colors };
}

/** Reverses the filter of each line, which stores differences from pixels to the left and above. */
function unfilter(
  filtered: Buffer,
  { stride, height, channels }: { stride: number; height: number; channels: number },
): Buffer {
  const bytes = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x < channels ? 0 : bytes[at - channels]!;
      const above = y === 0 ? 0 : bytes[at - stride]!;
      const corner = x < channels || y === 0 ? 0 : bytes[at - stride - channels]!;
      bytes[at] = filtered[y * (stride + 1) + 1 + x]! + predict(filter, left, above, corner);
    }
  }
  return bytes;
}

function predict(filter: number, left: number, above: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  const [toLeft, toAbove] = [Math.abs(above - corner), Math.abs(left - corner)];
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
