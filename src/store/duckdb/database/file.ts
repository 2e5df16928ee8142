import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

import { StartError } from "../../../errors.ts";
import { FairPool } from "../../../scheduling/fair-pool.ts";
import { startError } from "./errors.ts";
import { prepareSchema } from "./prepare-schema.ts";

/**
 * Number of reading connections. Each running query holds a thread of libuv's pool (four by
 * default); two readers and a writer leave one for files and hashing.
 */
const READERS = 2;
const BUSY = Object.freeze({
  own: "Your other queries occupy the store; wait until they end",
  others: "The store is busy with other queries; try again shortly",
  retryAfter_s: 10,
});

/** Storage format of new files. It compresses texts in a single way, which is faster. */
const STORAGE = "v1.5.0";

/**
 * Size of the write-ahead log that triggers a checkpoint. It keeps checkpoints rare enough not to
 * slow down writes; rows that are only in the log take more memory.
 */
const CHECKPOINT_MB = 64;
/**
 * Divisor of the memory limit that bounds rows which are only in the log; queries need the rest.
 */
const CHECKPOINT_SHARE = 2;

/** Pages that end up to this row read wide columns of the page only. DuckDB's default is 50. */
const LATE_MATERIALIZATION_ROWS = 1_000_000;

/** The path of a store file, and the resources that DuckDB may use for it. */
export type FileOptions = {
  readonly file: string;
  readonly memoryLimit_mb: number;
  /** Limit of the temporary folder beside the file. */
  readonly spillLimit_mb?: number | undefined;
  readonly threads: number;
};

/** An open file with its connections. */
export type OpenFile = {
  readonly path: string;
  readonly instance: DuckDBInstance;
  /** Replaced if a failed transaction could not be rolled back. */
  writer: DuckDBConnection;
  readonly readers: FairPool<DuckDBConnection>;
};

/**
 * Paths open in this process. DuckDB's lock only excludes other processes; two instances in one
 * process would corrupt the file.
 */
const openPaths = new Set<string>();

/**
 * Opens a file, creates it if it is missing, and checks its tables.
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
  // After a failure the contents of memory cannot be trusted, so that closing must not write them.
  // An orderly shutdown runs its own checkpoint first.
  await writer.run("pragma disable_checkpoint_on_shutdown");
  await writer.run(`set global late_materialization_max_rows = ${LATE_MATERIALIZATION_ROWS}`);
  // Queries contain only parameters, numbers, hexadecimal digits and validated keys. Should one
  // ever contain injected SQL, it still cannot access other files or settings.
  await writer.run("set global enable_external_access = false");
  await writer.run("set global lock_configuration = true");
  const readers = new FairPool(await Promise.all(Array.from({ length: READERS }, () => instance.connect())), BUSY);
  return { writer, readers };
}

/** Closes a file once all readers have returned their connections. */
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
 * Copies a file that is open in this process, in a child process. Closing any descriptor of a file
 * releases a POSIX lock of the process, so that a copy made here would release DuckDB's.
 * @throws Error with the system's message, in one line
 */
export async function copyFile(from: string, to: string): Promise<void> {
  try {
    await promisify(execFile)(process.execPath, ["-e", COPY, from, to]);
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim();
    throw new Error(said || `${from} could not be copied`, { cause: error });
  }
}
