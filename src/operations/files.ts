import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";

export const BUS_FILE = "bus.sqlite";
/** Each service has these from its first start, so a copy without them is none. */
const NEEDED: readonly string[] = [BUS_FILE, "catalog.sqlite"];

/** What a backup folder says about itself. It is written last: a folder without it is no whole backup. */
export const Manifest = z.object({
  version: z.literal(1),
  /** When the backup began: whatever was acknowledged before is in it. */
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
/** Stands in a data folder while a backup is being restored into it. */
export const RESTORING = "restore-not-finished";

/** The SHA-256 of a file, in hex. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Copies a file that nobody else has open, and makes the copy durable. @returns its SHA-256, in hex */
export async function copyDurably(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  const source = createReadStream(from).on("data", (chunk) => hash.update(chunk));
  await pipeline(source, createWriteStream(to, { flags: "wx", mode: 0o600, flush: true }));
  return hash.digest("hex");
}

/**
 * Like `mkdir -p`, for this user alone. Node's own recursive form never ends where the file system
 * denies that there can be such a folder (`/proc/x`).
 * @param folder an absolute path
 */
export function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  makeFolders(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/** Makes a file, or what a folder lists, durable. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
