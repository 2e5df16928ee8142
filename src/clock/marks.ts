import { open, readFile, rename } from "node:fs/promises";
import { z } from "zod";

const Mark = z.object({
  /** The time that was believed, in milliseconds since the Unix epoch. */
  time_ms: z.number(),
  /** How often a person has said that the host's clock is right. */
  accepted: z.number(),
  /**
   * The same moment by the clock of the system's boot; null where there is none, or where several
   * machines share the mark.
   */
  boot: z.object({ boot: z.string(), uptime_ms: z.number() }).nullable(),
});

/** What the last life of the service, or another process of a cluster, knew about the time. */
export type ClockMark = z.infer<typeof Mark>;

export type ClockMarks = {
  /** The last mark, or null where there is none that can be read. */
  read(): Promise<ClockMark | null>;
  /** Another process may write at the same moment: then one of both marks stays. */
  write(mark: ClockMark): Promise<void>;
};

/** A mark in a file of its own, for a service that has its files to itself. */
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

/** A mark that the processes of a cluster share. */
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
