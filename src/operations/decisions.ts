import { readFile, rename, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { z } from "zod";

import type { Documents } from "../catalog/documents/documents.ts";
import { LoggiaError } from "../errors.ts";
import { type HoldName, HOLDS, type Holds } from "../monitoring/holds.ts";

const COUNTS = z.partialRecord(z.enum(HOLDS), z.number());
type Counts = Readonly<z.infer<typeof COUNTS>>;

/**
 * Counts of holds accepted outside the API, by name. They are stored beside the engines, where
 * every process finds them, even one without an API or without accounts.
 */
export type Decisions = {
  read(): Promise<Counts>;
  /** Accepts the current holds of this name in all processes. */
  add(name: HoldName): Promise<void>;
};

export function decisionsInFile(file: string): Decisions {
  const read = async (): Promise<Counts> => {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "{}";
      throw error;
    });
    return COUNTS.parse(JSON.parse(text));
  };
  return {
    read,
    async add(name) {
      await writeFile(`${file}.new`, `${JSON.stringify(increment(await read(), name))}\n`, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
  };
}

const ID = "decisions";
const ATTEMPTS = 5;

export function decisionsInDocument(documents: Pick<Documents, "create" | "replace" | "read">): Decisions {
  return {
    read: async () => COUNTS.parse((await documents.read(ID))?.body ?? {}),
    async add(name) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const found = await documents.read(ID);
        const counts = increment(COUNTS.parse(found?.body ?? {}), name);
        const { kind } = await (found === null
          ? documents.create(ID, counts)
          : documents.replace(ID, counts, found.version));
        if (kind === "done") return;
      }
      throw new LoggiaError("conflict", "Other processes are accepting holds; try again");
    },
  };
}

function increment(counts: Counts, name: HoldName): Counts {
  return { ...counts, [name]: (counts[name] ?? 0) + 1 };
}

const POLL_MS = 1_000;

/**
 * Accepts holds of this process when an operator does so outside its API. A decision only applies
 * to holds that existed before it.
 */
export function followDecisions(options: {
  readonly decisions: Decisions;
  readonly holds: Pick<Holds, "list" | "accept">;
  readonly log: Logger;
  readonly poll_ms?: number;
}): AsyncDisposable & { poll(): Promise<void> } {
  const { decisions, holds, log, poll_ms = POLL_MS } = options;
  /** The count when each current hold was first seen. */
  const since = new Map<HoldName, number>();
  const closing = new AbortController();
  let last = Promise.resolve();

  async function poll(): Promise<void> {
    const names = holds.list().map(({ name }) => name);
    for (const name of since.keys()) if (!names.includes(name)) since.delete(name);
    if (names.length === 0) return;
    const counts = await decisions.read();
    for (const name of names) {
      const count = counts[name] ?? 0;
      if (count > (since.get(name) ?? count)) await holds.accept(name);
      since.set(name, count);
    }
  }

  const pollInTurn = (): Promise<void> =>
    (last = last.then(poll).catch((error: unknown) => {
      log.warn({ err: error }, "accepted holds could not be read; retrying in a second");
    }));

  async function run(): Promise<void> {
    for (;;) {
      await sleep(poll_ms, undefined, { signal: closing.signal, ref: false }).catch(() => {});
      if (closing.signal.aborted) return;
      await pollInTurn();
    }
  }
  const running = run();
  return {
    poll: pollInTurn,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await running;
    },
  };
}
