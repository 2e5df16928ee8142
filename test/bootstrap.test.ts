import test, { type ExecutionContext } from "ava";
import { pino } from "pino";

import type { Catalog } from "../src/catalog/catalog.ts";
import { createCatalog } from "../src/catalog/create.ts";
import type { Documents } from "../src/catalog/documents/documents.ts";
import { parseLogKey } from "../src/events/event.ts";
import { type FirstStart, createFirstRecords } from "../src/bootstrap.ts";
import { readSettings } from "../src/settings.ts";
import { DOCUMENTS_ADAPTERS, type DocumentsStorage } from "./contract/documents-adapters.ts";

const GIVEN = { LOGGIA_ADMIN: "ann@example.org:correct horse", LOGGIA_LOG: "shop:key-of-the-first-log" };
/**
 * More writes and outputs than a start has, so that the last iterations over all moments run to
 * their end.
 */
const MOMENTS = 12;
/** Longer than a first start takes on any machine. */
const NEVER_MS = 3_600_000;

const silent = pino({ level: "silent" });

/**
 * Allows a number of writes and outputs; after that the process counts as killed, and none of its
 * calls returns.
 */
function lifeOf(moments: number) {
  let left = moments;
  const dead = new Promise<never>(() => {});
  const died = Promise.withResolvers<"killed">();
  return {
    killed: died.promise,
    async step<T>(work: () => Promise<T>): Promise<T> {
      if (left === 0) died.resolve("killed");
      if (left <= 0) return dead;
      left -= 1;
      const result = await work();
      if (left > 0) return result;
      // Half of the moments are after an operation and before its result.
      died.resolve("killed");
      return dead;
    },
  };
}

type Life = ReturnType<typeof lifeOf>;

function mortal(documents: Documents, life: Life): Documents {
  return {
    ...documents,
    create: (...words) => life.step(() => documents.create(...words)),
    replace: (...words) => life.step(() => documents.replace(...words)),
    remove: (...words) => life.step(() => documents.remove(...words)),
  };
}

async function catalogOf(t: ExecutionContext, documents: Documents): Promise<Catalog> {
  const catalog = await createCatalog({ documents, log: silent });
  t.teardown(() => catalog[Symbol.asyncDispose]());
  return catalog;
}

/** Runs one start, which may end early, and adds its output to `shown`. */
async function start(t: ExecutionContext, storage: DocumentsStorage, shown: FirstStart[], life?: Life) {
  const documents = await storage.connect();
  const catalog = await catalogOf(t, life === undefined ? documents : mortal(documents, life));
  const note = async (first: FirstStart): Promise<void> => void shown.push(first);
  const show = (first: FirstStart) => (life === undefined ? note(first) : life.step(() => note(first)));
  const work = createFirstRecords(catalog, readSettings({}), { show, log: silent, takeOver_ms: 0 });
  return { catalog, result: await (life === undefined ? work : Promise.race([work, life.killed])) };
}

for (const { name, openStorage } of DOCUMENTS_ADAPTERS) {
  test(`${name}: a first start killed at any moment leaves no admin whose password was not shown`, async (t) => {
    const ends = new Set<string>();
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const storage = await openStorage(t);
      const shown: FirstStart[] = [];
      const { result } = await start(t, storage, shown, lifeOf(moment));
      ends.add(result === "killed" ? "killed" : "done");
      const { catalog } = await start(t, storage, shown);
      const admin = shown.findLast((first) => first.admin !== null)?.admin;
      const log = shown.findLast((first) => first.log !== null)?.log;
      t.deepEqual(
        catalog.accounts().map(({ email }) => email),
        [admin!.email],
      );
      t.truthy(await catalog.authenticate(admin!.email, admin!.password), `password, killed at moment ${moment}`);
      t.is((await catalog.apiKey(log!.apiKey))?.log, log!.key, `API key, killed at moment ${moment}`);
      t.is((await start(t, storage, shown)).result, null);
    }
    t.deepEqual(ends, new Set(["killed", "done"]));
  });

  test(`${name}: of processes that start at once with different settings, one creates an admin and a log`, async (t) => {
    const storage = await openStorage(t);
    const catalogs = await Promise.all([1, 2, 3].map(async () => catalogOf(t, await storage.connect())));
    let shows = 0;
    const made = await Promise.all(
      catalogs.map((catalog, i) => {
        const settings = readSettings({ LOGGIA_ADMIN: `ann${i}@example.org:correct horse`, LOGGIA_LOG: `shop-${i}` });
        const show = async (): Promise<void> => void (shows += 1);
        return createFirstRecords(catalog, settings, { show, log: silent, takeOver_ms: NEVER_MS });
      }),
    );
    t.is(made.filter((first) => first !== null).length, 1);
    t.is(shows, 1);
    for (const catalog of catalogs) {
      await catalog.refresh();
      t.is(catalog.accounts().length, 1);
      t.is(catalog.logs().length, 1);
    }
  });

  test(`${name}: LOGGIA_ADMIN and LOGGIA_LOG apply to an empty store only, and a deleted admin stays deleted`, async (t) => {
    const storage = await openStorage(t);
    const catalog = await catalogOf(t, await storage.connect());
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const parts = { show: () => Promise.reject(new Error("nothing is to be shown")), log, takeOver_ms: 0 };
    await createFirstRecords(catalog, readSettings(GIVEN), { ...parts, show: async () => {} });
    t.deepEqual(lines, []);
    await catalog.createAccount({ email: "bob@example.org", password: "battery staple", admin: true });
    await catalog.share(parseLogKey("shop")!, "bob@example.org", "admin");
    await catalog.deleteAccount("ann@example.org");
    t.is(await createFirstRecords(catalog, readSettings({ ...GIVEN, LOGGIA_LOG: "other" }), parts), null);
    t.is(catalog.account("ann@example.org"), null);
    t.is(catalog.log(parseLogKey("other")!), null);
    t.is(lines.length, 1);
    t.regex(lines[0]!, /LOGGIA_ADMIN and LOGGIA_LOG ignored: the store has accounts already/);
    t.false(lines[0]!.includes("First start"));
    // Restarts with the same settings are usual, so an existing log is not reported.
    await createFirstRecords(catalog, readSettings({ LOGGIA_LOG: GIVEN.LOGGIA_LOG }), parts);
    t.is(lines.length, 1);
  });
}
