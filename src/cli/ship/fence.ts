import { constants } from "node:fs";
import { type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { resolve, sep } from "node:path";

/**
 * Folders in which a file must lie after all symbolic links. Null: anywhere, as the operator named
 * the link itself. Without it, a link in a log folder could lead to any file.
 */
export type Fence = readonly string[] | null;

/** A file that lies outside of the folders that were named, or is no regular file. */
export class FenceError extends Error {
  readonly code = "FENCE";
  constructor(message: string) {
    super(message);
    this.name = "FenceError";
  }
}

/**
 * Opens a regular file within a fence. What counts is the file that was opened, not its path, which
 * may be changed at any moment.
 * @throws FenceError
 */
export async function openWithin(path: string, fence: Fence): Promise<FileHandle> {
  // A pipe in its place must not block the run.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await file.stat()).isFile()) throw new FenceError("it is not a regular file any more");
    if (fence !== null) await requireWithin(path, await realPathOf(file, path), fence);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function requireWithin(path: string, real: string, fence: readonly string[]): Promise<void> {
  if (real === resolve(path)) return;
  for (const folder of fence) {
    const root = await realpath(folder).catch(() => null);
    if (root !== null && real.startsWith(root.endsWith(sep) ? root : root + sep)) return;
  }
  const remedy = "name the folder of what it leads to with --links-to, if that is to be posted";
  throw new FenceError(`it is a link to ${real}, outside of ${fence[0]}; ${remedy}`);
}

/** Returns the path of an open file without symbolic links. */
async function realPathOf(file: FileHandle, path: string): Promise<string> {
  const real = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
  if (real !== null) return real.replace(/ \(deleted\)$/, "");
  // Other systems than Linux do not tell the path.
  const target = await realpath(path);
  const [opened, there] = [await file.stat({ bigint: true }), await lstat(target, { bigint: true })];
  if (opened.ino === there.ino && opened.dev === there.dev) return target;
  throw new FenceError("it was replaced while it was opened");
}
