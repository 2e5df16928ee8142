/** Odd multiplier for hashing four bytes, from the golden ratio (Knuth). */
export const MIX = 0x9e3779b1;

/**
 * Folds four ASCII bytes at once. Adding the distances from A and from beyond Z to 0x80 marks the
 * bytes from A to Z in their eighth bits; these bytes get the bit of lower case.
 */
export function foldFour(bytes: number): number {
  const capitals = ((bytes + 0x3f3f3f3f) ^ (bytes + 0x25252525)) & 0x80808080;
  return bytes | (capitals >>> 2);
}
