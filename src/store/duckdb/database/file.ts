import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import { StartError } from "../../../errors.ts";
import { startError } from "./errors.ts";
import { FairPool } from "../read/fair-pool.ts";
import { prepareSchema } from "./migrate.ts";

/**
 * Each query holds a thread of libuv's pool (four, unless set) while it runs: two readers and a
 * writer leave one for files and hashing.
 */
const READERS = 2;

/** The format of new files. From this one on texts are compressed in one way, which takes a quarter less time. */
const STORAGE = "v1.5.0";

/**
 * The log of changes is folded into the file once it is this large: seldom enough not to slow
 * writing down. Rows that only the log has take half as much again in memory.
 */
const CHECKPOINT_MB = 64;
/** Rows that only the log has are to fit into memory beside what questions need. */
const CHECKPOINT_SHARE = 2;

/** Lists fetch the wide columns of just their page, up to pages that end at this row; 50 is DuckDB's default. */
const LATE_MATERIALIZATION_ROWS = 1_000_000;

/** Where a file lies, and what DuckDB may take for it. */
export type FileOptions = {
  readonly file: string;
  readonly memoryLimit_mb: number;
  /** What may lie in the folder beside the file. */
  readonly spillLimit_mb?: number | undefined;
  readonly threads: number;
};

/** An open file with its connections. */
export type OpenFile = {
  readonly path: string;
  readonly instance: DuckDBInstance;
  /** Replaced where a failed transaction could not be rolled back. */
  writer: DuckDBConnection;
  readonly readers: FairPool<DuckDBConnection>;
};

/** DuckDB locks its file against other processes alone: two instances in one process would spoil it. */
const openPaths = new Set<string>();

/**
 * Opens a file, makes it where there is none, and brings its schema up to date.
 * @throws StartError that names the file
 */
export async function openFile(options: FileOptions): Promise<OpenFile> {
  const path = resolve(options.file);
  if (openPaths.has(path)) throw new StartError(`The store ${options.file} is already open in this process`);
  openPaths.add(path);
  try {
    await mkdir(dirname(path), { recursive: true });
    const instance = await DuckDBInstance.create(path, {
      memory_limit: `${options.memoryLimit_mb}MB`,
      threads: String(options.threads),
      temp_directory: `${path}.tmp`,
      ...(options.spillLimit_mb === undefined ? {} : { max_temp_directory_size: `${options.spillLimit_mb}MB` }),
      checkpoint_threshold: `${Math.min(CHECKPOINT_MB, Math.floor(options.memoryLimit_mb / CHECKPOINT_SHARE))}MB`,
      storage_compatibility_version: STORAGE,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
    });
    try {
      return { path, instance, ...(await connect(instance, options.file)) };
    } catch (error) {
      instance.closeSync();
      throw error;
    }
  } catch (error) {
    openPaths.delete(path);
    throw error instanceof StartError ? error : startError(options.file, error);
  }
}

async function connect(instance: DuckDBInstance, file: string): Promise<Pick<OpenFile, "writer" | "readers">> {
  const writer = await instance.connect();
  await prepareSchema(writer, file);
  // After a failure a file is closed because what is in memory is not to be trusted. Others fold the
  // log in before they close it.
  await writer.run("pragma disable_checkpoint_on_shutdown");
  await writer.run(`set global late_materialization_max_rows = ${LATE_MATERIALIZATION_ROWS}`);
  // Questions are built from parameters, numbers, hexadecimal digits and checked keys; should one
  // ever carry a stranger's SQL, it can still reach no other file and no setting.
  await writer.run("set global enable_external_access = false");
  await writer.run("set global lock_configuration = true");
  const readers = new FairPool(await Promise.all(Array.from({ length: READERS }, () => instance.connect())));
  return { writer, readers };
}

/** Closes a file, once nobody reads it any more. */
export async function closeFile(open: OpenFile): Promise<void> {
  for (const connection of await open.readers.drain()) connection.closeSync();
  open.writer.closeSync();
  open.instance.closeSync();
  openPaths.delete(open.path);
}

const COPY = `
  const [from, to] = process.argv.slice(1);
  try {
    fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE);
  } catch ({ message }) {
    console.error(message);
    process.exitCode = 1;
  }`;

/**
 * Copies a file that is open in this process, by another process: a POSIX lock goes when its holder
 * closes any of its descriptors of the file, and DuckDB's would go with the copier's.
 * @throws Error in one line of what the system says
 */
export async function copyFile(from: string, to: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, ["-e", COPY, from, to]);
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim();
    throw new Error(said || `${from} could not be copied`, { cause: error });
  }
}
