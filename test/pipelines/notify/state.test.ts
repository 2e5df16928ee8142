import { join } from "node:path";
import test from "ava";

import { addNotices } from "../../../pipelines/notify/digest.ts";
import type { Notice } from "../../../pipelines/notify/notice.ts";
import { createState, digestId } from "../../../pipelines/notify/state.ts";
import { openSqliteDocuments } from "../../../src/catalog/documents/sqlite.ts";
import type { LogKey, UserId } from "../../../src/events/event.ts";
import type { EventId } from "../../../src/events/id.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const USER = "0123456789abcdef" as UserId;
const KEY = { user: USER, log: "shop" as LogKey, class: "failure" };
const NOTICE: Notice = {
  ...KEY,
  id: "0123456789abcdef0123456789abcdef" as EventId,
  created: 1_308_491_673_911,
  text: "Disk full",
  source: "web-3",
  value: null,
  users: [USER],
  origin: { partition: 0, offset: 17, line: 1 },
};

test("channels share no digest and no allowance, and mail keeps the ids of its documents", async (t) => {
  const documents = await openSqliteDocuments({ file: join(temporaryFolder(t), "notifications.sqlite") });
  t.teardown(() => documents[Symbol.asyncDispose]());
  const id = digestId(KEY);
  for (const [n, kind] of ["mail", "webhook"].entries()) {
    const state = createState(documents, kind);
    t.is(await state.digest(id), null, kind);
    const at = { partition: 3, now_ms: 1_308_491_674_000 + n, lines: 20 };
    await state.changeDigest(id, (digest) => addNotices(digest, [NOTICE], at));
    await state.changeAllowance(USER, (allowance) => ({ ...allowance, day: "2026-11-21", count: allowance.count + 1 }));
  }
  const stored = (await documents.changes(null)).documents.map((document) => document.id);
  t.deepEqual(stored.toSorted(), [
    `allowance/${USER}`,
    `digest/shop/failure/${USER}`,
    `webhook:allowance/${USER}`,
    `webhook:digest/shop/failure/${USER}`,
  ]);
  for (const [n, kind] of ["mail", "webhook"].entries()) {
    const digests = await createState(documents, kind).digestsOf(3);
    t.like(digests, [{ id, digest: { pending: { count: 1, since_ms: 1_308_491_674_000 + n } } }], kind);
    t.is(digests.length, 1, kind);
  }
});
