/**
 * Names of a file's earlier generations. Files are told apart by content: names only
 * order files that are found together, and choose among files that appeared beside a named one.
 */

const ARCHIVE_EXTENSION = /\.(?:gz|zst|zstd)$/;
/** Numbers of four to seven digits are ports and the like, unless they begin as a year. */
const NUMBER = String.raw`(?:\d{1,3}(?!\d)|(?:19|20)\d\d|\d{8,})[\w.:-]*?`;
const SUFFIX = String.raw`[._-](?:${NUMBER}|old|bak|prev)`;
const AFTER_EXTENSION = new RegExp(String.raw`(?:\.\d[\w.:-]*?|${SUFFIX})$`);
const BEFORE_EXTENSION = new RegExp(String.raw`^(.*?)${SUFFIX}(\.[A-Za-z]\w*)$`);

/** Whether a name is one that rotation gives to generations of `base`: a.log.1, a-2026-01-01.log.gz. */
export function isGenerationName(base: string, name: string): boolean {
  const plain = name.replace(ARCHIVE_EXTENSION, "");
  if (plain === base) return plain !== name;
  const suffix = plain.startsWith(base) ? plain.slice(base.length) : null;
  if (suffix !== null && new RegExp(`^${AFTER_EXTENSION.source}`).test(suffix)) return true;
  const [stem, extension] = splitName(base);
  if (extension === "" || !plain.startsWith(stem) || !plain.endsWith(extension)) return false;
  const within = plain.slice(stem.length, plain.length - extension.length);
  return new RegExp(`^${SUFFIX}$`).test(within);
}

/** Whether a name begins as that of `base`, as names of its generations do. */
export function mayBeGenerationName(base: string, name: string): boolean {
  return name !== base && name.startsWith(splitName(base)[0]);
}

/** Whether two names differ by their numbers alone. */
export function areOfOneScheme(name: string, other: string): boolean {
  return schemeOf(name) === schemeOf(other);
}

/** Returns the name without the suffix of a generation. */
export function baseName(name: string): string {
  const plain = name.replace(ARCHIVE_EXTENSION, "");
  const before = BEFORE_EXTENSION.exec(plain);
  if (before !== null) return `${before[1]}${before[2]}`;
  return plain.replace(AFTER_EXTENSION, "");
}

function schemeOf(name: string): string {
  return name.replace(ARCHIVE_EXTENSION, "").replaceAll(/\d+/g, "#");
}

function splitName(name: string): readonly [stem: string, extension: string] {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
}
