/**
 * Whether all characters are ASCII. Comparing the length in bytes is faster than checking each
 * character, but needs Node.
 */
export function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}
