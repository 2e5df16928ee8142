import test from "ava";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";

import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHOP = parseLogKey("shop")!;

test("a log accepts 10,000 class filters and refuses one more", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  const open = async () =>
    createCatalog({ documents: await openSqliteDocuments({ file }), log: pino({ level: "silent" }) });
  await using catalog = await open();
  const owner = await catalog.createAccount({ email: "ann@example.org", password: "correct horse", admin: false });
  await catalog.createLog({ key: SHOP, display: "Shop", owner: owner.id });
  await catalog.createClassFilter(SHOP, filterOf(0));
  copyFilter(file, 9_998);
  await catalog.refresh();
  t.is(catalog.classFilters(SHOP).length, 9_999);
  await catalog.createClassFilter(SHOP, filterOf(9_999));
  await t.throwsAsync(catalog.createClassFilter(SHOP, filterOf(10_000)), { code: "conflict", message: /10000 class/ });
  t.is(catalog.classFilters(SHOP).length, 10_000);
  await catalog.deleteClassFilter(SHOP, "class-7");
  await catalog.createClassFilter(SHOP, filterOf(10_000));
  t.is(catalog.classFilters(SHOP).length, 10_000);
  await using again = await open();
  t.deepEqual(again.classFilters(SHOP), catalog.classFilters(SHOP));
});

function filterOf(n: number): ClassFilter {
  return { key: `class-${n}`, display: "", color: "red", tag: `tag-${n}`, text: "", link: "", source: "", weight: 0 };
}

/**
 * Copies the first filter `count` times, as `class-1` and so on, in one transaction: a commit for
 * each would take too long on a busy disk.
 */
function copyFilter(file: string, count: number): void {
  const database = new DatabaseSync(file, { timeout: 5000 });
  database
    .prepare(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT INTO documents (id, version, body)
       SELECT 'class/shop/class-' || n, (SELECT max(version) FROM documents) + n, json_set(body, '$.filter.key', 'class-' || n)
       FROM numbers, documents WHERE id = 'class/shop/class-0'`,
    )
    .run(count);
  database.close();
}
