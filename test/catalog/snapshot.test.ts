import test from "ava";

import type { Version } from "../../src/catalog/documents/documents.ts";
import type { Entity } from "../../src/catalog/model.ts";
import { documentId } from "../../src/catalog/model.ts";
import { createSnapshot } from "../../src/catalog/snapshot.ts";
import type { UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";

const SHOP = parseLogKey("shop")!;
const ANN = "a".repeat(16) as UserId;
const BOB = "b".repeat(16) as UserId;

/** A snapshot, and a function that applies documents as if from the feed. */
function prepare() {
  const snapshot = createSnapshot();
  let last = 0;
  const apply = (id: string, body: Entity | null, number = (last += 1)): void =>
    snapshot.apply({ id, version: String(number).padStart(9, "0") as Version, body });
  return { snapshot, apply };
}

function accountOf(id: UserId, email: string): Entity {
  return { kind: "account", id, email, admin: false, password: "" };
}

function logOf(users: readonly UserId[]): Entity {
  const shares = users.map((user) => ({ user, role: "admin" }) as const);
  return { kind: "log", key: SHOP, owner: users[0]!, display: "Shop", retentionDays: null, shares, apiKeys: [] };
}

function classOf(birth: string): Entity {
  const filter = { key: "errors", display: "", color: "red", tag: "x", text: "", link: "", source: "", weight: 0 };
  return { kind: "class", log: SHOP, birth, filter };
}

test("options that outlived their class do not apply to a later class with its key", (t) => {
  // As left by a process that ends between removing a class and its options.
  const { snapshot, apply } = prepare();
  apply(documentId.account("ann@example.org"), accountOf(ANN, "ann@example.org"));
  apply(documentId.log(SHOP), logOf([ANN]));
  apply(documentId.class(SHOP, "errors"), classOf("first"));
  const options = { alert: true, notify: true, hide: true };
  apply(documentId.options(ANN, SHOP, "errors"), {
    kind: "options",
    user: ANN,
    log: SHOP,
    class: "errors",
    birth: "first",
    options,
  });
  t.deepEqual(snapshot.options(ANN, SHOP, "errors"), options);
  t.deepEqual(snapshot.subscribers(SHOP, "errors", "alert"), [ANN]);
  apply(documentId.class(SHOP, "errors"), null);
  t.false(snapshot.options(ANN, SHOP, "errors").alert);
  apply(documentId.class(SHOP, "errors"), classOf("second"));
  t.false(snapshot.options(ANN, SHOP, "errors").alert);
  t.deepEqual(snapshot.subscribers(SHOP, "errors", "alert"), []);
});

test("a share of a removed account does not count", (t) => {
  // As left if one process shares a log while another deletes the account.
  const { snapshot, apply } = prepare();
  apply(documentId.log(SHOP), logOf([ANN, BOB]));
  t.deepEqual(snapshot.log(SHOP)?.shares, []);
  apply(documentId.account("ann@example.org"), accountOf(ANN, "ann@example.org"));
  apply(documentId.account("bob@example.org"), accountOf(BOB, "bob@example.org"));
  t.is(snapshot.log(SHOP)?.shares.length, 2);
  t.deepEqual(snapshot.logsOf(BOB), [snapshot.log(SHOP)!]);
  apply(documentId.account("bob@example.org"), null);
  t.deepEqual(snapshot.log(SHOP)?.shares, [{ user: ANN, role: "admin" }]);
  t.is(snapshot.roleOf(BOB, SHOP), null);
  t.deepEqual(snapshot.logsOf(BOB), []);
  t.deepEqual(snapshot.logsOf(ANN)[0]?.shares.length, 1);
});

test("an older version never undoes a newer one, removals included", (t) => {
  const { snapshot, apply } = prepare();
  const id = documentId.account("ann@example.org");
  apply(id, accountOf(ANN, "ann@example.org"), 5);
  apply(id, accountOf(BOB, "ann@example.org"), 4);
  t.is(snapshot.account("ann@example.org")?.id, ANN);
  apply(id, null, 6);
  apply(id, accountOf(ANN, "ann@example.org"), 5);
  t.is(snapshot.account("ann@example.org"), null);
  t.is(snapshot.accountById(ANN), null);
});

test("results are the same objects while nothing in them changes", (t) => {
  const { snapshot, apply } = prepare();
  apply(documentId.account("ann@example.org"), accountOf(ANN, "ann@example.org"));
  apply(documentId.log(SHOP), logOf([ANN]));
  const [log, logs, own, accounts] = [snapshot.log(SHOP), snapshot.logs(), snapshot.logsOf(ANN), snapshot.accounts()];
  apply(documentId.class(SHOP, "errors"), classOf("first"));
  t.is(snapshot.log(SHOP), log);
  t.is(snapshot.logs(), logs);
  t.is(snapshot.logsOf(ANN), own);
  t.is(snapshot.accounts(), accounts);
  t.true(Object.isFrozen(log) && Object.isFrozen(logs) && Object.isFrozen(snapshot.classFilters(SHOP)[0]));
});

test("class filters are listed by key, in whatever order they are added and removed", (t) => {
  const { snapshot, apply } = prepare();
  const keys = new Set<string>();
  for (let i = 0; i < 500; i++) {
    // Each of 97 keys is added, changed or removed, in no particular order.
    const key = `k${(i * 61) % 97}`;
    const isGone = i % 3 === 2;
    const filter = { key, display: "", color: "red", tag: `x${i}`, text: "", link: "", source: "", weight: 0 };
    apply(documentId.class(SHOP, key), isGone ? null : { kind: "class", log: SHOP, birth: `b${i}`, filter });
    if (isGone) keys.delete(key);
    else keys.add(key);
    const list = snapshot.classFilters(SHOP);
    t.deepEqual(
      list.map((one) => one.key),
      [...keys].sort(),
    );
    t.true(isGone || list.includes(filter));
    t.true(Object.isFrozen(list));
  }
});
