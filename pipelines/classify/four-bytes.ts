/** An odd number by which four bytes are hashed: of the golden ratio, as Knuth has it. */
export const MIX = 0x9e3779b1;

/**
 * Four bytes of ASCII at once: those from A to Z, which adding what leads from either to 0x80 tells
 * by their eighth bits, have the bit of small letters set.
 */
export function foldFour(bytes: number): number {
  const capitals = ((bytes + 0x3f3f3f3f) ^ (bytes + 0x25252525)) & 0x80808080;
  return bytes | (capitals >>> 2);
}
