import { setTimeout as sleep } from "node:timers/promises";

import type { LogKey, UserId } from "../../src/events/event.ts";
import { newAllowance, type Allowance } from "./allowance.ts";
import { emptyDigest, type Digest } from "./digest.ts";

/**
 * The part of a document store that the notifier needs: small bodies by id, with each write guarded
 * by the version it was based on.
 */
export type StateDocuments = AsyncDisposable & {
  create(id: string, body: Body): Promise<Written>;
  replace(id: string, body: Body, expected: string): Promise<Written>;
  read(id: string): Promise<{ readonly version: string; readonly body: Body | null } | null>;
  /** Returns all documents. */
  changes(since: null): Promise<{ readonly documents: readonly { readonly id: string; readonly body: Body | null }[] }>;
};

type Body = Readonly<Record<string, unknown>>;
type Written = { readonly kind: "done" | "conflict" };

/** Identifies a digest. None of its parts contains a slash. */
export type DigestKey = Pick<Digest, "user" | "log" | "class">;
export type DigestId = string & { readonly brand: "DigestId" };

export type NotifierState = {
  /** Reads a digest. @throws LoggiaError `store_unavailable`, as all methods do */
  digest(id: DigestId): Promise<Digest | null>;
  /** Returns the digests of one partition of `alerts`. */
  digestsOf(partition: number): Promise<{ id: DigestId; digest: Digest }[]>;
  /**
   * Writes the result of `change` if the document has not changed meanwhile, otherwise calls
   * `change` again. Nothing is written if `change` returns its argument.
   */
  changeDigest(id: DigestId, change: (digest: Digest) => Digest): Promise<Digest>;
  changeAllowance(user: UserId, change: (allowance: Allowance) => Allowance): Promise<Allowance>;
};

const DIGEST = "digest/";
const CONFLICT_WAIT_MS = 50;

export function digestId({ user, log, class: classKey }: DigestKey): DigestId {
  return `${DIGEST}${log}/${classKey}/${user}` as DigestId;
}

/** @param kind of the channel, whose documents these are */
export function createState(documents: StateDocuments, kind: string): NotifierState {
  // Documents of mail have no prefix: those that exist stay valid.
  const prefix = kind === "mail" ? "" : `${kind}:`;

  async function change<T extends Body>(id: string, fresh: () => T, make: (current: T) => T): Promise<T> {
    for (;;) {
      const found = await documents.read(prefix + id);
      const current = (found?.body as T | null | undefined) ?? fresh();
      const next = make(current);
      if (next === current) return current;
      const { kind } =
        found === null || found.body === null
          ? await documents.create(prefix + id, next)
          : await documents.replace(prefix + id, next, found.version);
      if (kind === "done") return next;
      await sleep(Math.random() * CONFLICT_WAIT_MS);
    }
  }

  return {
    digest: async (id) => ((await documents.read(prefix + id))?.body as Digest | null | undefined) ?? null,
    digestsOf: async (partition) => {
      const all = await documents.changes(null);
      return all.documents.flatMap(({ id, body }) => {
        if (!id.startsWith(prefix + DIGEST) || body?.["partition"] !== partition) return [];
        return [{ id: id.slice(prefix.length) as DigestId, digest: body as Digest }];
      });
    },
    changeDigest: (id, make) => change(id, () => emptyDigest(keyOf(id)), make),
    changeAllowance: (user, make) => change(`allowance/${user}`, () => newAllowance(user), make),
  };
}

function keyOf(id: DigestId): DigestKey {
  const [log = "", classKey = "", user = ""] = id.slice(DIGEST.length).split("/");
  return { log: log as LogKey, class: classKey, user: user as UserId };
}
