import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

import type { DocumentCursor, Documents, Version } from "../catalog/documents/documents.ts";
import type { StorePart } from "../store/store.ts";
import type { Marks, MarksFile } from "./marks.ts";

const PART = z.object({ place: z.string(), id: z.string(), generation: z.number(), isReplayed: z.boolean() });

const MARKS = z.object({
  ends: z.record(z.string(), z.number()),
  catalog: z.number().nullable(),
  catalogId: z.string().nullable().default(null),
  hasAccounts: z.boolean(),
  mayLackAccounts: z.boolean().default(false),
  hasEvents: z.boolean(),
  parts: z.array(PART).default([]),
  lost: z.array(PART).default([]),
  moment: z
    .object({ at: z.number(), offsets: z.record(z.string(), z.number()) })
    .nullable()
    .default(null),
  pending: z.partialRecord(z.enum(["bus", "store", "catalog"]), z.string()),
});

/**
 * Stores marks in a file beside the engines. It need not be durable: if a power loss leaves an
 * older file or none, only a comparison is skipped.
 */
export function marksInFile(file: string, catalog: Pick<Documents, "changes">): MarksFile {
  let cursor: DocumentCursor | null = null;
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
      return true;
    },
    async catalog() {
      ({ cursor } = await catalog.changes(cursor));
      return { catalog: Number(cursor), catalogId: null };
    },
    removed: () => Promise.resolve([]),
    forgetRemoved: () => Promise.resolve(),
  };
}

const ID = "continuity";
const REMOVED = "removed-";

/**
 * Stores marks in a document of the cluster, which several processes write, and one document for
 * each part removed by retention. These are kept, as any process may still compare the part's
 * absence with older marks.
 */
export function marksInDocument(
  documents: Pick<Documents, "create" | "replace" | "remove" | "read" | "changes">,
  catalog: { state(): Promise<{ readonly id: string; readonly count: number }> },
): MarksFile & { readonly beforeRemoval: (part: StorePart) => Promise<void> } {
  let version: Version | null = null;
  return {
    async read() {
      const found = await documents.read(ID);
      version = found?.version ?? null;
      return found === null ? null : parse(JSON.stringify(found.body));
    },
    async write(marks) {
      const { kind } = await (version === null ? documents.create(ID, marks) : documents.replace(ID, marks, version));
      return kind === "done";
    },
    async beforeRemoval(part) {
      // A conflict means that the note exists already.
      await documents.create(REMOVED + part.id, part);
    },
    async removed() {
      const { documents: all } = await documents.changes(null);
      return all.filter(({ id }) => id.startsWith(REMOVED)).map(({ body }) => PART.parse(body));
    },
    async forgetRemoved(id) {
      const found = await documents.read(REMOVED + id);
      if (found !== null && found.body !== null) await documents.remove(found.id, found.version);
    },
    async catalog() {
      const { id, count } = await catalog.state();
      return { catalog: count, catalogId: id };
    },
  };
}

/** Unreadable marks count as none. */
function parse(text: string): Marks | null {
  try {
    return MARKS.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
