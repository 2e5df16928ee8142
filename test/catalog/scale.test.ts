import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { createCatalog } from "../../src/catalog/create.ts";
import { openSqliteDocuments } from "../../src/catalog/documents/sqlite.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHOP = parseLogKey("shop")!;

test("a log takes 10,000 class filters, and not one more", async (t) => {
  const file = join(temporaryFolder(t), "catalog.sqlite");
  const open = async () =>
    createCatalog({ documents: await openSqliteDocuments({ file }), log: pino({ level: "silent" }) });
  await using catalog = await open();
  const owner = await catalog.createAccount({ email: "ann@example.org", password: "correct horse", admin: false });
  await catalog.createLog({ key: SHOP, display: "Shop", owner: owner.id });
  const create = (n: number) =>
    catalog.createClassFilter(SHOP, {
      key: `class-${n}`,
      display: "",
      color: "red",
      tag: `tag-${n}`,
      text: "",
      link: "",
      source: "",
      weight: 0,
    });
  for (let n = 0; n < 10_000; n++) await create(n);
  await t.throwsAsync(create(10_000), { code: "conflict", message: /10000 class filters/ });
  t.is(catalog.classFilters(SHOP).length, 10_000);
  await catalog.deleteClassFilter(SHOP, "class-7");
  await create(10_000);
  t.is(catalog.classFilters(SHOP).length, 10_000);
  await using again = await open();
  t.deepEqual(again.classFilters(SHOP), catalog.classFilters(SHOP));
});
