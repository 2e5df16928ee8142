import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";

export const BUS_FILE = "bus.sqlite";
/** Files that every service has from its first start; a backup without them is invalid. */
const NEEDED: readonly string[] = [BUS_FILE, "catalog.sqlite"];

/** Manifest of a backup. It is written last: a folder without it is an incomplete backup. */
export const Manifest = z.object({
  version: z.literal(1),
  /** Start of the backup, which contains everything acknowledged before. */
  begun: z.iso.datetime(),
  files: z
    .array(
      z.object({
        name: z.string().regex(/^[a-z]+\.(sqlite|duckdb(\.wal)?)$/),
        size_bytes: z.number(),
        sha256: z.string(),
      }),
    )
    .refine((files) => NEEDED.every((needed) => files.some(({ name }) => name === needed))),
});
export type Manifest = z.infer<typeof Manifest>;

export const MANIFEST = "backup.json";
/** Marker in a data folder while a backup is restored into it. */
export const RESTORING = "restore-not-finished";

/** Returns the SHA-256 of a file, in hex. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Copies a file that is not open elsewhere and syncs the copy. @returns its SHA-256, in hex */
export async function copyDurably(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  const source = createReadStream(from).on("data", (chunk) => hash.update(chunk));
  await pipeline(source, createWriteStream(to, { flags: "wx", mode: 0o600, flush: true }));
  return hash.digest("hex");
}

/**
 * Creates a folder and its parents for this user only. Node's recursive `mkdir` never returns if
 * the file system does not allow the folder (`/proc/x`).
 * @param folder an absolute path
 */
export function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** Syncs a file, or the entries of a folder. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
