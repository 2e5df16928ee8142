/**
 * The thread that owns the file of the embedded bus. `client.ts` starts and calls it. A commit
 * blocks its thread until the disk has answered. Requests on the main thread do not wait for that,
 * and posts that arrive meanwhile share the next commit.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { Transferable } from "node:worker_threads";

import { StartError } from "../../errors.ts";
import { openBusFile } from "./file.ts";
import type { BusFile } from "./file.ts";

/** The calls of the file. */
export type BusFileCall = Exclude<keyof BusFile, "close">;

/** @property id repeated in the answer */
export type BusFileRequest = {
  readonly id: number;
  readonly call: BusFileCall | "close";
  readonly args: readonly unknown[];
};

export type BusFileAnswer =
  | { readonly kind: "opened"; readonly why: null | string }
  | { readonly kind: "done"; readonly id: number; readonly value: unknown }
  /** `errcode` is SQLite's, 0 for other errors. */
  | { readonly kind: "failed"; readonly id: number; readonly message: string; readonly errcode: number };

export type BusThreadData = { readonly file: string; readonly maxFile_bytes: number };

const port = parentPort!;
const { file, maxFile_bytes } = workerData as BusThreadData;

function post(answer: BusFileAnswer, transfer: Transferable[] = []): void {
  port.postMessage(answer, transfer);
}

async function serve(bus: BusFile, { id, call, args }: BusFileRequest): Promise<void> {
  try {
    const value: unknown = await (bus[call] as (...given: readonly unknown[]) => unknown).apply(bus, [...args]);
    post({ kind: "done", id, value }, call === "read" ? buffersOf(value as ReturnType<BusFile["read"]>) : []);
  } catch (error) {
    const { message, errcode = 0 } = error as Error & { errcode?: number };
    post({ kind: "failed", id, message, errcode });
  }
  // The thread ends with its port.
  if (call === "close") port.close();
}

/** Buffers to transfer. Each value from SQLite has a buffer of its own. */
function buffersOf(records: ReturnType<BusFile["read"]>): ArrayBuffer[] {
  return records.map(({ value }) => value.buffer as ArrayBuffer);
}

try {
  const bus = openBusFile(file, maxFile_bytes);
  port.on("message", (request: BusFileRequest) => void serve(bus, request));
  post({ kind: "opened", why: null });
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  post({ kind: "opened", why: error.message });
}
