import test from "ava";
import { join } from "node:path";
import { pino } from "pino";

import { createCatalog } from "../src/catalog/create.ts";
import { openSqliteDocuments } from "../src/catalog/documents/sqlite.ts";
import { parseLogKey } from "../src/events/event.ts";
import { makeFirstRecords } from "../src/first.ts";
import { readSettings } from "../src/settings.ts";
import { temporaryFolder } from "./support/temporary.ts";

test("processes that start at the same moment agree on the first log, also where its key is given", async (t) => {
  const log = pino({ level: "silent" });
  const documents = await openSqliteDocuments({ file: join(temporaryFolder(t), "catalog.sqlite") });
  t.teardown(() => documents[Symbol.asyncDispose]());
  const [one, other] = [await createCatalog({ documents, log }), await createCatalog({ documents, log })];
  await one.createAccount({ email: "ann@example.org", password: "correct horse", admin: true });
  await other.refresh();
  const settings = readSettings({
    LOGGIA_ADMIN: "ann@example.org:correct horse",
    LOGGIA_LOG: "first:key-of-the-first-log",
  });
  t.is((await makeFirstRecords(one, settings))?.log?.apiKey, "key-of-the-first-log");
  // It has not heard of the log yet, as where both look at the same moment.
  t.is(await makeFirstRecords(other, settings), null);
  t.is(other.log(parseLogKey("first")!)?.apiKeys.length, 1);
});
