import { open, readFile, rename } from "node:fs/promises";
import { z } from "zod";

const Mark = z.object({
  /** The trusted time, in milliseconds since the Unix epoch. */
  time_ms: z.number(),
  /** Number of times an operator has accepted the host's clock. */
  accepted: z.number(),
  /** The same time by the boot clock; null without one, or if several machines share the mark. */
  boot: z.object({ boot: z.string(), uptime_ms: z.number() }).nullable(),
});

/** Trusted time stored by an earlier run of the service, or by another process of a cluster. */
export type ClockMark = z.infer<typeof Mark>;

export type ClockMarks = {
  /** Returns the last mark, or null if it is missing or malformed. */
  read(): Promise<ClockMark | null>;
  /** Writes a mark. If another process writes at the same time, either mark remains. */
  write(mark: ClockMark): Promise<void>;
};

/** Stores the mark in a file of its own, for a service on embedded engines. */
export function fileMarks(file: string): ClockMarks {
  return {
    async read() {
      try {
        return Mark.safeParse(JSON.parse(await readFile(file, "utf8"))).data ?? null;
      } catch (error) {
        if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return null;
        throw error;
      }
    },
    async write(mark) {
      const handle = await open(`${file}.new`, "w", 0o600);
      try {
        await handle.writeFile(JSON.stringify(mark));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(`${file}.new`, file);
    },
  };
}

type Documents = {
  create(id: string, body: ClockMark): Promise<unknown>;
  replace(id: string, body: ClockMark, expected: string): Promise<unknown>;
  read(id: string): Promise<{ readonly version: string; readonly body: unknown } | null>;
};

const ID = "clock";

/** Stores the mark in a document that the processes of a cluster share. */
export function sharedMarks(documents: Documents): ClockMarks {
  return {
    async read() {
      return Mark.safeParse((await documents.read(ID))?.body).data ?? null;
    },
    async write(mark) {
      const found = await documents.read(ID);
      await (found === null ? documents.create(ID, mark) : documents.replace(ID, mark, found.version));
    },
  };
}
