/**
 * Whether all characters are ASCII, which take a byte each in UTF-8. Counting those bytes is faster
 * than looking at each character, but needs Node.
 */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
