import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

import { StartError } from "../errors.ts";
import { BUS_FILE, copyDurably, flush, makeFolders, Manifest, MANIFEST, RESTORING } from "./files.ts";

/**
 * Copies a backup into an empty data folder.
 * @throws StartError with one line if `from` holds no complete and undamaged backup, or `data` is
 * not empty. Files copied from a damaged backup are removed again
 */
export async function restore(from: string, data: string): Promise<Manifest> {
  const manifest = readManifest(from);
  requireEmpty(data);
  const marker = join(data, RESTORING);
  // The marker keeps a service from starting on a partial restore if this process dies.
  writeFileSync(marker, "", { flag: "wx", flush: true });
  await flush(data);
  const copied: string[] = [];
  try {
    for (const { name, sha256 } of manifest.files) {
      const file = join(data, name);
      copied.push(file);
      if ((await copyDurably(join(from, name), file)) !== sha256) {
        throw new StartError(`The backup in ${from} is damaged: the checksum of ${name} differs from its manifest`);
      }
    }
  } catch (error) {
    for (const file of [...copied, marker]) rmSync(file, { force: true });
    if (error instanceof StartError) throw error;
    throw new StartError(`The backup in ${from} could not be restored: ${(error as Error).message}`, { cause: error });
  }
  await flush(data);
  rmSync(marker);
  await flush(data);
  return manifest;
}

/** @throws StartError if a restore into this folder was interrupted */
export function refuseIncompleteRestore(data: string): void {
  if (!existsSync(join(data, RESTORING))) return;
  throw new StartError(`A restore into ${data} was interrupted: empty the folder and restore again`);
}

function readManifest(from: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(from, MANIFEST), "utf8");
  } catch (error) {
    throw new StartError(`${from} holds no complete backup: it has no ${MANIFEST}`, { cause: error });
  }
  const manifest = Manifest.safeParse(parseJson(text));
  if (!manifest.success) throw new StartError(`${from} holds no backup that this release can read: see ${MANIFEST}`);
  for (const { name, size_bytes } of manifest.data.files) {
    const file = join(from, name);
    if (!existsSync(file)) throw new StartError(`The backup in ${from} is damaged: ${name} is missing`);
    if (statSync(file).size !== size_bytes) {
      throw new StartError(
        `The backup in ${from} is damaged: ${name} has ${statSync(file).size} bytes, not ${size_bytes}`,
      );
    }
  }
  return manifest.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function requireEmpty(data: string): void {
  let names: string[];
  try {
    makeFolders(resolve(data));
    names = readdirSync(data);
  } catch (error) {
    throw new StartError(`A backup can't be restored into ${data}: ${(error as Error).message}`, { cause: error });
  }
  if (names.length === 0) return;
  if (isHeld(join(data, BUS_FILE)))
    throw new StartError(`A service is running on ${data}: stop it, and name an empty folder`);
  throw new StartError(`${data} is not empty: nothing is overwritten, so name an empty folder in LOGGIA_DATA`);
}

/** Whether a running service has the bus open, which keeps its file locked. */
function isHeld(file: string): boolean {
  if (!existsSync(file)) return false;
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
  } finally {
    database?.close();
  }
}
