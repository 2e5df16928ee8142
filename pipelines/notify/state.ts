import { setTimeout as sleep } from "node:timers/promises";

import type { LogKey, UserId } from "../../src/events/event.ts";
import { allowanceOf, type Allowance } from "./allowance.ts";
import { emptyDigest, type Digest } from "./digest.ts";

/**
 * What the notifier needs of a document store: small bodies under an id, each write guarded by the
 * version that it was based on.
 */
export type StateDocuments = AsyncDisposable & {
  create(id: string, body: Body): Promise<Written>;
  replace(id: string, body: Body, expected: string): Promise<Written>;
  read(id: string): Promise<{ readonly version: string; readonly body: Body | null } | null>;
  /** All documents there are. */
  changes(since: null): Promise<{ readonly documents: readonly { readonly id: string; readonly body: Body | null }[] }>;
};

type Body = Readonly<Record<string, unknown>>;
type Written = { readonly kind: "done" | "conflict" };

/** Names a digest: it holds no slash in any of its parts. */
export type DigestKey = Pick<Digest, "user" | "log" | "class">;
export type DigestId = string & { readonly brand: "DigestId" };

export type State = {
  /** @throws LoggiaError `store_unavailable`, as all of these */
  digest(id: DigestId): Promise<Digest | null>;
  /** The digests of one partition of `alerts`. */
  digestsOf(partition: number): Promise<{ id: DigestId; digest: Digest }[]>;
  /**
   * Writes what `change` makes of a document, once it is sure that nobody changed it meanwhile;
   * `change` may be called several times. Returning what was given writes nothing.
   */
  changeDigest(id: DigestId, change: (digest: Digest) => Digest): Promise<Digest>;
  changeAllowance(user: UserId, change: (allowance: Allowance) => Allowance): Promise<Allowance>;
};

const DIGEST = "digest/";
const CONFLICT_WAIT_MS = 50;

export function digestIdOf({ user, log, class: classKey }: DigestKey): DigestId {
  return `${DIGEST}${log}/${classKey}/${user}` as DigestId;
}

export function createState(documents: StateDocuments): State {
  async function change<T extends Body>(id: string, fresh: () => T, make: (current: T) => T): Promise<T> {
    for (;;) {
      const found = await documents.read(id);
      const current = (found?.body as T | null | undefined) ?? fresh();
      const next = make(current);
      if (next === current) return current;
      const { kind } =
        found === null || found.body === null
          ? await documents.create(id, next)
          : await documents.replace(id, next, found.version);
      if (kind === "done") return next;
      await sleep(Math.random() * CONFLICT_WAIT_MS);
    }
  }

  return {
    digest: async (id) => ((await documents.read(id))?.body as Digest | null | undefined) ?? null,
    digestsOf: async (partition) => {
      const all = await documents.changes(null);
      return all.documents.flatMap(({ id, body }) => {
        if (!id.startsWith(DIGEST) || body?.["partition"] !== partition) return [];
        return [{ id: id as DigestId, digest: body as Digest }];
      });
    },
    changeDigest: (id, make) => change(id, () => emptyDigest(keyOf(id)), make),
    changeAllowance: (user, make) => change(`allowance/${user}`, () => allowanceOf(user), make),
  };
}

function keyOf(id: DigestId): DigestKey {
  const [log = "", classKey = "", user = ""] = id.slice(DIGEST.length).split("/");
  return { log: log as LogKey, class: classKey, user: user as UserId };
}
