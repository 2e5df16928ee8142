/**
 * The document store beneath the catalog: small JSON bodies under an id, each write guarded by the
 * version it was based on, and a feed of changes that every process follows. Adapters: `sqlite.ts`
 * (embedded) and `elasticsearch.ts` (cluster). Both pass `test/contract/documents.test.ts`.
 *
 * Invariant: a write that was answered is durable, and is in the feed of every `changes` call that
 * begins after it.
 */
export type Documents = AsyncDisposable & {
  /** Writes a document that is not there (one that was removed may be created again). Conflict where it is. */
  create(id: string, body: Body): Promise<WriteResult>;
  /** Writes over the version `expected`. Conflict where the document has another one, or is gone. */
  replace(id: string, body: Body, expected: Version): Promise<WriteResult>;
  /**
   * Removes the version `expected`, and leaves an empty marker for the feed. Conflict where the
   * document has another one, or is gone.
   */
  remove(id: string, expected: Version): Promise<WriteResult>;
  /** The newest version of a document, as no feed can be newer; null where there never was one. */
  read(id: string): Promise<Document | null>;
  /**
   * What was written or removed since `since`, oldest first, each document once with its newest
   * version, and where to go on. May tell a change more than once; never skips one. From the start
   * (null) it leaves out what was removed.
   */
  changes(since: Cursor | null): Promise<{ readonly documents: readonly Document[]; readonly cursor: Cursor }>;
  /**
   * Removes for good, without markers, what was last written before a cursor was given; some of it
   * may stay until a later cursor. For collections of what is only of use for a while: their feed
   * does not tell it. @returns how many documents went
   */
  forget(upTo: Cursor): Promise<number>;
  /** @throws LoggiaError `store_unavailable` that says which engine could not be reached. */
  ping(): Promise<void>;
};

/** A JSON object. */
export type Body = Readonly<Record<string, unknown>>;

/** Of one document, versions rise: compared as text, the later one is the larger. Only adapters make them. */
export type Version = string & { readonly brand: "Version" };

/** Where a reader of the feed stands. Only the adapter that made it can read it. */
export type Cursor = string & { readonly brand: "Cursor" };

/** `body` is null where the document was removed. */
export type Document = { readonly id: string; readonly version: Version; readonly body: Body | null };

export type WriteResult = { readonly kind: "done"; readonly version: Version } | { readonly kind: "conflict" };

/** The longest id that every adapter takes, in bytes of UTF-8. */
export const MAX_ID_BYTES = 512;
