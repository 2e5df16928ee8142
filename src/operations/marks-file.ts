import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

import type { Cursor, Documents } from "../catalog/documents/documents.ts";
import type { Marks, MarksFile } from "./continuity.ts";

const MARKS = z.object({
  ends: z.record(z.string(), z.number()),
  catalog: z.number().nullable(),
  hasAccounts: z.boolean(),
  hasEvents: z.boolean(),
  pending: z.partialRecord(z.enum(["bus", "store", "catalog"]), z.string()),
});

/**
 * Marks in a file beside those that they are about. It need not be durable: after a loss of power an older mark, or none,
 * is no more than a comparison that is not made.
 */
export function marksInFile(file: string, catalog: Pick<Documents, "changes">): MarksFile {
  let cursor: Cursor | null = null;
  return {
    async read() {
      const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        throw error;
      });
      return text === null ? null : parse(text);
    },
    async write(marks) {
      await writeFile(`${file}.new`, `${JSON.stringify(marks)}\n`, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    async catalogVersion() {
      ({ cursor } = await catalog.changes(cursor));
      return Number(cursor);
    },
  };
}

const ID = "continuity";

/** Marks in a document of the cluster, which several processes write. */
export function marksInDocument(documents: Pick<Documents, "create" | "replace" | "read">): MarksFile {
  return {
    async read() {
      const found = await documents.read(ID);
      return found === null ? null : parse(JSON.stringify(found.body));
    },
    async write(marks) {
      const found = await documents.read(ID);
      // Where another process was faster, the next look writes.
      await (found === null ? documents.create(ID, marks) : documents.replace(ID, marks, found.version));
    },
    catalogVersion: () => Promise.resolve(null),
  };
}

/** Marks that can't be read count as none. */
function parse(text: string): Marks | null {
  try {
    return MARKS.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
