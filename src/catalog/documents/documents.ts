/**
 * The document store beneath the catalog: small JSON bodies by id, writes guarded by the version
 * they are based on, and a change feed that every process follows. Adapters: `sqlite.ts` (embedded)
 * and `elasticsearch.ts` (cluster). Both pass `test/contract/documents.test.ts`.
 *
 * Invariant: an acknowledged write is durable, and appears in every `changes` call that starts
 * after the acknowledgement.
 */
export type Documents = AsyncDisposable & {
  /** Creates a document, also one that was removed before. Conflict if it exists. */
  create(id: string, body: Body): Promise<WriteResult>;
  /** Replaces the version `expected`. Conflict if the document has another version or is gone. */
  replace(id: string, body: Body, expected: Version): Promise<WriteResult>;
  /**
   * Removes the version `expected` and leaves an empty marker for the feed. Conflict if the
   * document has another version or does not exist.
   */
  remove(id: string, expected: Version): Promise<WriteResult>;
  /** Reads the newest version, which the feed may not contain yet; null if it never existed. */
  read(id: string): Promise<Document | null>;
  /**
   * Returns the documents written or removed since `since`, oldest first, each once with its newest
   * version, and the next cursor. Changes may be reported again, but none is skipped. A read from
   * the start (null) leaves out removed documents.
   */
  changes(
    since: DocumentCursor | null,
  ): Promise<{ readonly documents: readonly Document[]; readonly cursor: DocumentCursor }>;
  /**
   * Permanently removes, without markers, documents last written before a cursor was returned. Some
   * may stay until a later cursor. The feed does not report it, so it is only for collections of
   * short-lived documents. @returns how many documents were removed
   */
  forget(upTo: DocumentCursor): Promise<number>;
  /** @throws LoggiaError `store_unavailable`, which names the engine that could not be reached */
  ping(): Promise<void>;
};

/** A JSON object. */
export type Body = Readonly<Record<string, unknown>>;

/** Version of a document. Versions rise, compared as text. Only adapters create them. */
export type Version = string & { readonly brand: "Version" };

/** Position in the feed. Only the adapter that created it can read it. */
export type DocumentCursor = string & { readonly brand: "Cursor" };

/** `body` is null if the document was removed. */
export type Document = { readonly id: string; readonly version: Version; readonly body: Body | null };

export type WriteResult = { readonly kind: "done"; readonly version: Version } | { readonly kind: "conflict" };

/** Longest id that every adapter accepts, in bytes of UTF-8. */
export const MAX_ID_BYTES = 512;
