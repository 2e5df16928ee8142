import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Suffixes added by rotation, such as .1, -20260101, .2026-01-01.3 and .old. A name such as
 * worker-2.log is a log of its own.
 */
const ROTATION_SUFFIX = String.raw`(?:\.\d[\w.:-]*?|[._-]\d{4}[\w.:-]*?|\.old)`;
const ARCHIVE_EXTENSION = String.raw`(?:\.(?:gz|zst|zstd))?`;
const AFTER_EXTENSION = new RegExp(`^${ROTATION_SUFFIX}${ARCHIVE_EXTENSION}$`);
const BEFORE_EXTENSION = /^[._-]\d{4}[\w.:-]*$/;
const ONLY_ARCHIVE_EXTENSION = new RegExp(`^${ARCHIVE_EXTENSION}$`);

/** Whether a name is a rotation of `base`: a.log.1, a.log-20260101.gz, a-2026-01-01.log. */
export function isRotationOf(base: string, name: string): boolean {
  if (name.length <= base.length) return false;
  const dot = base.lastIndexOf(".");
  const [stem, ending] = dot > 0 ? [base.slice(0, dot), base.slice(dot)] : [base, ""];
  if (name.startsWith(base) && AFTER_EXTENSION.test(name.slice(base.length))) return true;
  if (ending === "" || !name.startsWith(stem)) return false;
  const rest = name.slice(stem.length);
  const end = rest.lastIndexOf(ending);
  return (
    end > 0 && BEFORE_EXTENSION.test(rest.slice(0, end)) && ONLY_ARCHIVE_EXTENSION.test(rest.slice(end + ending.length))
  );
}

export type Generation = {
  readonly path: string;
  readonly dev: string;
  readonly ino: string;
  readonly changed_ns: bigint;
};

/**
 * Lists the earlier generations beside a file, oldest first. An archive whose uncompressed file
 * still exists is left out: it is being written.
 */
export async function earlierGenerations(path: string): Promise<Generation[]> {
  const base = basename(path);
  const folder = dirname(path);
  const names = (await readdir(folder).catch(() => [])).filter((name) => isRotationOf(base, name));
  const there = new Set(names);
  const found: Generation[] = [];
  for (const name of names) {
    const origin = name.replace(/\.(?:gz|zst|zstd)$/, "");
    if (origin !== name && there.has(origin)) continue;
    const generation = await generationAt(join(folder, name));
    if (generation !== null) found.push(generation);
  }
  return found.sort((a, b) =>
    a.changed_ns === b.changed_ns ? (a.path < b.path ? 1 : -1) : a.changed_ns < b.changed_ns ? -1 : 1,
  );
}

export async function generationAt(path: string): Promise<Generation | null> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  if (found === null || !found.isFile()) return null;
  return { path, dev: String(found.dev), ino: String(found.ino), changed_ns: found.mtimeNs };
}
