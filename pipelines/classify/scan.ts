import { fold } from "../../src/events/text.ts";

/**
 * A text that is searched: folded, or by a byte for each UTF-16 unit, whichever is asked for first.
 * One is used for text after text, so that nothing is made for each. Bytes are written in a third
 * of the time that folding takes, and read in less than characters are.
 */
export type Scan = {
  text: string;
  /** Null until somebody asks, as `length` is -1 until bytes were written. */
  folded: string | null;
  length: number;
  /**
   * Whether the bytes are the text's as it came, all ASCII, and not folded; else they are the lower
   * halves of the folded text's units.
   */
  isAscii: boolean;
  bytes: Buffer;
  view: DataView;
  /** Takes as many numbers as there are bytes. */
  marks: Int32Array;
};

const SIZE = 1_024;
/**
 * So much longer than the text is what bytes are written to: a text that is not ASCII takes more
 * bytes than it has units, and a character that has no room, of four at most, is left out.
 */
const MARGIN = 4;

export function createScan(): Scan {
  return { text: "", folded: null, length: -1, isAscii: false, ...room(SIZE) };
}

function room(size: number): Pick<Scan, "bytes" | "view" | "marks"> {
  const bytes = Buffer.allocUnsafeSlow(size);
  return { bytes, view: new DataView(bytes.buffer), marks: new Int32Array(size) };
}

/** From now on `text` is searched. */
export function take(scan: Scan, text: string): void {
  scan.text = text;
  scan.folded = null;
  scan.length = -1;
  scan.isAscii = false;
}

export function foldedOf(scan: Scan): string {
  return (scan.folded ??= scan.isAscii ? scan.text.toLowerCase() : fold(scan.text));
}

/** Sees to it that the bytes are written. */
export function write(scan: Scan): void {
  if (scan.length >= 0) return;
  const { text } = scan;
  if (text.length + MARGIN > scan.bytes.length) Object.assign(scan, room(2 * (text.length + MARGIN)));
  scan.length = text.length;
  scan.isAscii = scan.bytes.write(text, "utf8") === text.length;
  if (!scan.isAscii) scan.length = scan.bytes.write(foldedOf(scan), "latin1");
}
