import type { ExecutionContext, TestFn } from "ava";

import type { AccountLimits, Catalog } from "../../src/catalog/catalog.ts";
import { DEFAULT_ACCOUNT_LIMITS } from "../../src/catalog/quotas.ts";
import type { UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { DocumentsStorage } from "./documents-adapters.ts";
import { PASSWORD, SHOP, type Start, addAccount, addLog, filterOf, fails, open } from "./catalog-fixture.ts";
import {
  logsPerAccount,
  logsPerMinute,
  noLogs,
  heldTogether,
  filledElsewhere,
  reservationsLapse,
} from "./catalog-limits.ts";
import { hooks } from "./catalog-hooks.ts";
import {
  restart,
  following,
  newKeyElsewhere,
  writesFindOthers,
  concurrency,
  lastAdminRace,
  savedQueriesRace,
  hooksRace,
} from "./catalog-processes.ts";

type Run = (t: ExecutionContext, start: Start) => Promise<void>;

/**
 * Tests of the catalog over an adapter of its document store. Calling `start` twice gives two
 * processes that share the catalog.
 */
export function catalogContract(
  test: TestFn,
  name: string,
  openStorage: (t: ExecutionContext) => Promise<DocumentsStorage>,
): void {
  const declare = (title: string, run: Run): void => {
    test(`${name}: ${title}`, async (t) => {
      const storage = await openStorage(t);
      await run(t, async (now) => open(t, storage, DEFAULT_ACCOUNT_LIMITS, now));
    });
  };
  declare("accounts are found by address without regard to case, and by id", accounts);
  declare("passwords are verified, changed, and gone with the account", passwords);
  declare("a log is created once, with its owner as admin and one key", logs);
  declare("a log's name and retention can be changed", logSettings);
  declare("shares give a role, and a log keeps an admin", shares);
  declare("a log belongs to the account that created it, also after that account is deleted", owners);
  const limited = (title: string, limits: Partial<AccountLimits>, run: Run): void => {
    test(`${name}: ${title}`, async (t) => {
      const storage = await openStorage(t);
      await run(t, async (now) => open(t, storage, { ...DEFAULT_ACCOUNT_LIMITS, ...limits }, now));
    });
  };
  limited("the number of logs per account is limited across all processes", { logs: 6 }, logsPerAccount);
  limited("an account creates at most ten logs a minute across all processes", {}, logsPerMinute);
  limited("only service admins create logs where accounts may own none", { logs: 0 }, noLogs);
  test(`${name}: reservations expire, also if another process's clock ran ahead`, async (t) => {
    await reservationsLapse(t, await openStorage(t));
  });
  const few = { apiKeys: 8, classFilters: 6, shares: 5 };
  limited("the totals over an owner's logs are limited across all processes", few, heldTogether);
  limited("a limit reached in one process holds in another at once", few, filledElsewhere);
  declare("deleting an account removes its shares and options", deletion);
  declare("API keys give access to one log until they are disabled or removed", apiKeys);
  declare("class filters are kept by key, as one array until they change", classFilters);
  declare("options belong to one account and one lifetime of a class", options);
  declare("subscribers are those who chose to subscribe and still have access", subscribers);
  declare("saved queries belong to one account and one log, and are deleted with the account", savedQueries);
  declare("the number of saved queries per account is limited across all processes", savedQueriesRace);
  declare("hooks belong to one log and keep their secret until it is changed", hooks);
  declare("the number of hooks per log is limited across all processes", hooksRace);
  declare("the catalog survives a restart", restart);
  test(`${name}: changes by one process are visible in another within 2 s`, async (t) => {
    await following(t, await openStorage(t));
  });
  test(`${name}: a new key works at once in another process, and wrong keys cost few reads`, async (t) => {
    await newKeyElsewhere(t, await openStorage(t));
  });
  declare("a write to a record that another process has just created finds it", writesFindOthers);
  declare("twenty concurrent writers in two processes lose nothing", concurrency);
  declare("two processes cannot remove both admins of a log", lastAdminRace);
}

async function accounts(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const ann = await catalog.createAccount({ email: "Ann@Example.org", password: PASSWORD, admin: true });
  t.regex(ann.id, /^[0-9a-f]{16}$/);
  t.deepEqual(ann, { id: ann.id, email: "Ann@Example.org", admin: true });
  t.is(catalog.account("ann@example.ORG"), ann);
  t.is(catalog.accountById(ann.id), ann);
  t.is(catalog.account("bob@example.org"), null);
  await fails(
    t,
    "account_exists",
    catalog.createAccount({ email: "ANN@example.org", password: PASSWORD, admin: false }),
  );
  await fails(t, "bad_parameter", catalog.createAccount({ email: "ann", password: PASSWORD, admin: false }));
  await fails(
    t,
    "bad_parameter",
    catalog.createAccount({ email: "bob@example.org", password: "1234567", admin: false }),
  );
  await addAccount(catalog, "aaron@example.org");
  t.deepEqual(
    catalog.accounts().map(({ email }) => email),
    ["aaron@example.org", "Ann@Example.org"],
  );
  t.false(JSON.stringify(catalog.accounts()).includes("argon2"));
}

async function passwords(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const ann = await addAccount(catalog, "ann@example.org");
  t.is((await catalog.authenticate("ANN@example.org", PASSWORD))?.id, ann);
  t.is(await catalog.authenticate("ann@example.org", "correct horsf"), null);
  t.is(await catalog.authenticate("bob@example.org", PASSWORD), null);
  await catalog.setPassword("Ann@example.org", "battery staple");
  t.is(await catalog.authenticate("ann@example.org", PASSWORD), null);
  t.is((await catalog.authenticate("ann@example.org", "battery staple"))?.id, ann);
  await fails(t, "bad_parameter", catalog.setPassword("ann@example.org", "short"));
  await fails(t, "account_not_found", catalog.setPassword("bob@example.org", PASSWORD));
  await catalog.deleteAccount("ann@example.org");
  t.is(await catalog.authenticate("ann@example.org", "battery staple"), null);
  await fails(t, "account_not_found", catalog.deleteAccount("ann@example.org"));
  const again = await addAccount(catalog, "ann@example.org", "battery staple");
  t.not(again, ann);
  t.is((await catalog.authenticate("ann@example.org", "battery staple"))?.id, again);
}

async function logs(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const ann = await addAccount(catalog, "ann@example.org");
  const { log, apiKey } = await catalog.createLog({ key: SHOP, display: "The shop", owner: ann });
  const { secret, ...shown } = apiKey;
  t.regex(secret, /^lg_[a-z2-9]{32}$/);
  t.deepEqual(log, {
    key: SHOP,
    display: "The shop",
    plan: "development",
    retentionDays: null,
    origins: [],
    shares: [{ user: ann, role: "admin" }],
    apiKeys: [shown],
  });
  t.is(shown.scope, "read-write");
  t.false(JSON.stringify(catalog.logs()).includes(secret));
  t.is(catalog.log(SHOP), log);
  t.is(catalog.log(parseLogKey("other")!), null);
  t.is(catalog.roleOf(ann, SHOP), "admin");
  await fails(t, "log_exists", catalog.createLog({ key: SHOP, display: "Again", owner: ann }));
  await fails(t, "bad_parameter", catalog.createLog({ key: parseLogKey("x")!, display: " ", owner: ann }));
  const nobody = "0000000000000000" as UserId;
  await fails(t, "account_not_found", catalog.createLog({ key: parseLogKey("x")!, display: "X", owner: nobody }));
  await catalog.createLog({ key: parseLogKey("a-log")!, display: "A", owner: ann });
  t.deepEqual(
    catalog.logsOf(ann).map(({ key }) => key as string),
    ["a-log", "shop"],
  );
  t.deepEqual(catalog.logsOf(nobody), []);
}

async function logSettings(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  await addLog(catalog, SHOP, "ann@example.org");
  t.like(await catalog.updateLog(SHOP, { display: "Shop 2" }), { display: "Shop 2", retentionDays: null });
  t.like(await catalog.updateLog(SHOP, { retentionDays: 30 }), { display: "Shop 2", retentionDays: 30 });
  t.like(await catalog.updateLog(SHOP, { retentionDays: null }), { display: "Shop 2", retentionDays: null });
  const origins = ["https://shop.example.org", "*"];
  t.like(await catalog.updateLog(SHOP, { origins }), { display: "Shop 2", origins });
  t.true(catalog.namesOrigin("https://shop.example.org"));
  const other = await start();
  t.deepEqual(other.log(SHOP)?.origins, origins);
  t.true(other.namesOrigin("*"));
  t.like(await catalog.updateLog(SHOP, { origins: [] }), { origins: [] });
  t.false(catalog.namesOrigin("https://shop.example.org"));
  await fails(t, "bad_parameter", catalog.updateLog(SHOP, { origins: ["null"] }), /origins holds "null"/);
  await fails(t, "bad_parameter", catalog.updateLog(SHOP, { retentionDays: 0 }), /retentionDays.*1 to 36500/);
  await fails(t, "bad_parameter", catalog.updateLog(SHOP, { display: "" }), /display.*1 to 200/);
  await fails(t, "log_not_found", catalog.updateLog(parseLogKey("none")!, { display: "x" }));
}

async function shares(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const { owner: ann } = await addLog(catalog, SHOP, "ann@example.org");
  const bob = await addAccount(catalog, "bob@example.org");
  t.is(catalog.roleOf(bob, SHOP), null);
  await catalog.share(SHOP, "BOB@example.org", "user");
  t.is(catalog.roleOf(bob, SHOP), "user");
  t.deepEqual(catalog.logsOf(bob), [catalog.log(SHOP)!]);
  await fails(t, "conflict", catalog.share(SHOP, "ann@example.org", "user"), /admin/);
  await fails(t, "conflict", catalog.unshare(SHOP, "ann@example.org"), /admin/);
  await catalog.share(SHOP, "bob@example.org", "admin");
  await catalog.unshare(SHOP, "ann@example.org");
  t.is(catalog.roleOf(ann, SHOP), null);
  t.deepEqual(catalog.logsOf(ann), []);
  t.deepEqual(catalog.log(SHOP)?.shares, [{ user: bob, role: "admin" }]);
  await fails(t, "share_not_found", catalog.unshare(SHOP, "ann@example.org"));
  await fails(t, "share_not_found", catalog.unshare(SHOP, "carl@example.org"));
  await fails(t, "account_not_found", catalog.share(SHOP, "carl@example.org", "user"));
  await fails(t, "log_not_found", catalog.share(parseLogKey("none")!, "ann@example.org", "user"));
}

async function owners(t: ExecutionContext, start: Start): Promise<void> {
  const [here, there] = [await start(), await start()];
  const { owner: ann } = await addLog(here, SHOP, "ann@example.org");
  t.is(here.ownerOf(SHOP), ann);
  t.is(here.ownerOf(parseLogKey("none")!), null);
  await addAccount(here, "bob@example.org");
  await here.share(SHOP, "bob@example.org", "admin");
  await here.unshare(SHOP, "ann@example.org");
  t.is(here.ownerOf(SHOP), ann, "without a share in it");
  await here.deleteAccount("ann@example.org");
  t.is(here.ownerOf(SHOP), ann, "without an account");
  await there.refresh();
  t.is(there.ownerOf(SHOP), ann, "in every process");
  t.is((await start()).ownerOf(SHOP), ann, "after a restart");
}

async function deletion(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  await addLog(catalog, SHOP, "ann@example.org");
  const bob = await addAccount(catalog, "bob@example.org");
  await catalog.share(SHOP, "bob@example.org", "user");
  await catalog.createClassFilter(SHOP, filterOf("errors"));
  await catalog.setClassOptions(bob, SHOP, "errors", { alert: true, notify: false, hide: false });
  await fails(t, "conflict", catalog.deleteAccount("ann@example.org"), /shop/);
  t.not(catalog.account("ann@example.org"), null);
  t.is(catalog.log(SHOP)?.shares.length, 2);
  await catalog.deleteAccount("bob@example.org");
  t.is(catalog.account("bob@example.org"), null);
  t.is(catalog.accountById(bob), null);
  t.is(catalog.roleOf(bob, SHOP), null);
  t.is(catalog.log(SHOP)?.shares.length, 1);
  t.deepEqual(catalog.subscribers(SHOP, "errors", "alert"), []);
  t.false(catalog.classOptions(bob, SHOP, "errors").alert);
  const again = await addAccount(catalog, "bob@example.org");
  t.deepEqual(catalog.logsOf(again), [], "a later account of the address begins with nothing");
}

async function apiKeys(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  await fails(t, "store_unavailable", catalog.apiKey("lg_unknown"), /holds no accounts/);
  const { owner, secret } = await addLog(catalog, SHOP, "ann@example.org");
  t.like(catalog.cachedApiKey(secret), { log: SHOP, scope: "read-write", disabled: false });
  t.is(catalog.cachedApiKey(secret.toUpperCase()), null);
  t.is(await catalog.apiKey("lg_unknown"), null);
  t.is(await catalog.apiKey(""), null);
  const writer = await catalog.createApiKey(SHOP, "write-only");
  t.not(writer.secret, secret);
  t.deepEqual(await catalog.apiKey(writer.secret), { log: SHOP, id: writer.id, scope: "write-only", disabled: false });
  t.like(await catalog.setApiKeyDisabled(SHOP, writer.id, true), { id: writer.id, disabled: true });
  t.true(catalog.cachedApiKey(writer.secret)?.disabled);
  t.false((await catalog.setApiKeyDisabled(SHOP, writer.id, false)).disabled);
  t.false(catalog.cachedApiKey(writer.secret)?.disabled);
  await catalog.deleteApiKey(SHOP, writer.id);
  t.is(await catalog.apiKey(writer.secret), null);
  t.is(catalog.log(SHOP)?.apiKeys.length, 1);
  await fails(t, "api_key_not_found", catalog.deleteApiKey(SHOP, writer.id));
  await fails(t, "api_key_not_found", catalog.setApiKeyDisabled(SHOP, "x", true));
  await fails(t, "log_not_found", catalog.createApiKey(parseLogKey("none")!, "read-only"));
  await fails(t, "bad_parameter", catalog.createApiKey(SHOP, "all" as "read-only"), /scope.*write-only/);

  const chosen = { display: "X", owner, apiKey: "my-own-secret" };
  const other = parseLogKey("other")!;
  t.is((await catalog.createLog({ ...chosen, key: other })).apiKey.secret, "my-own-secret");
  t.is(catalog.cachedApiKey("my-own-secret")?.log, other);
  await fails(t, "conflict", catalog.createLog({ ...chosen, key: parseLogKey("third")! }), /apiKey/);
  await fails(t, "bad_parameter", catalog.createLog({ ...chosen, key: parseLogKey("third")!, apiKey: "short" }));
}

async function savedQueries(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const { owner: ann } = await addLog(catalog, SHOP, "ann@example.org");
  const bob = await addAccount(catalog, "bob@example.org");
  await catalog.share(SHOP, "bob@example.org", "user");
  const query = { name: "Errors", query: "GET events", tz: "", shared: true };
  await catalog.saveQuery(SHOP, bob, query);
  await catalog.saveQuery(SHOP, bob, { ...query, name: "Mine", shared: false });
  const namesFor = (user: UserId | null): string[] => catalog.savedQueries(SHOP, user).map(({ name }) => name);
  t.deepEqual(namesFor(bob), ["Errors", "Mine"]);
  t.deepEqual(namesFor(ann), ["Errors"]);
  t.deepEqual(namesFor(null), ["Errors"]);
  t.is(catalog.savedQuery(SHOP, ann, "ERRORS")?.owner, bob);
  t.is(catalog.savedQuery(SHOP, ann, "mine"), null);
  t.deepEqual(catalog.savedQueries(parseLogKey("other")!, bob), []);

  await catalog.unshare(SHOP, "bob@example.org");
  t.deepEqual(namesFor(ann), [], "nobody asks a query of one who may not read the log");
  await catalog.share(SHOP, "bob@example.org", "user");
  t.deepEqual(namesFor(ann), ["Errors"]);
  await catalog.deleteAccount("bob@example.org");
  t.deepEqual(namesFor(ann), []);
  t.deepEqual(namesFor(bob), []);
}

async function classFilters(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const { owner } = await addLog(catalog, SHOP, "ann@example.org");
  t.deepEqual(catalog.classFilters(SHOP), []);
  t.deepEqual(
    await catalog.createClassFilter(SHOP, { ...filterOf("x"), key: "Errors" }),
    filterOf("errors", { tag: "x" }),
  );
  await catalog.createClassFilter(SHOP, filterOf("alarms"));
  const list = catalog.classFilters(SHOP);
  t.deepEqual(list, [filterOf("alarms"), filterOf("errors", { tag: "x" })]);
  await catalog.share(SHOP, "ann@example.org", "admin");
  await catalog.createApiKey(SHOP, "read-only");
  await catalog.setClassOptions(owner, SHOP, "errors", { alert: true, notify: true, hide: true });
  await catalog.refresh();
  t.is(catalog.classFilters(SHOP), list, "the same array, as no filter changed");
  await fails(t, "class_filter_exists", catalog.createClassFilter(SHOP, filterOf("ERRORS")));
  await fails(t, "log_not_found", catalog.createClassFilter(parseLogKey("none")!, filterOf("a")));
  await fails(
    t,
    "bad_parameter",
    catalog.createClassFilter(SHOP, filterOf("a", { tag: "" })),
    /tag, text, link and source/,
  );
  const { key: _, ...changed } = filterOf("errors", { text: "broken", weight: 7 });
  t.deepEqual(await catalog.updateClassFilter(SHOP, "Errors", changed), { key: "errors", ...changed });
  t.not(catalog.classFilters(SHOP), list);
  t.is(catalog.classFilters(SHOP)[1]?.weight, 7);
  t.true(catalog.classOptions(owner, SHOP, "errors").alert, "a changed filter keeps its options");
  await catalog.deleteClassFilter(SHOP, "alarms");
  t.deepEqual(
    catalog.classFilters(SHOP).map(({ key }) => key),
    ["errors"],
  );
  await fails(t, "class_filter_not_found", catalog.deleteClassFilter(SHOP, "alarms"));
  await fails(t, "class_filter_not_found", catalog.updateClassFilter(SHOP, "../up", changed));
}

async function options(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const { owner: ann } = await addLog(catalog, SHOP, "ann@example.org");
  const bob = await addAccount(catalog, "bob@example.org");
  const none = { alert: false, notify: false, hide: false };
  await catalog.createClassFilter(SHOP, filterOf("errors"));
  t.deepEqual(catalog.classOptions(ann, SHOP, "errors"), none);
  const chosen = { alert: true, notify: false, hide: true };
  t.deepEqual(await catalog.setClassOptions(ann, SHOP, "Errors", chosen), chosen);
  t.deepEqual(catalog.classOptions(ann, SHOP, "errors"), chosen);
  t.deepEqual(catalog.classOptions(bob, SHOP, "errors"), none);
  t.deepEqual(await catalog.setClassOptions(ann, SHOP, "errors", none), none);
  t.deepEqual(catalog.classOptions(ann, SHOP, "errors"), none);
  await catalog.setClassOptions(ann, SHOP, "errors", chosen);
  await catalog.deleteClassFilter(SHOP, "errors");
  await fails(t, "class_filter_not_found", catalog.setClassOptions(ann, SHOP, "errors", chosen));
  await catalog.createClassFilter(SHOP, filterOf("errors"));
  t.deepEqual(catalog.classOptions(ann, SHOP, "errors"), none, "a later class of the same key begins with nothing");
}

async function subscribers(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const catalog = await start();
  const { owner: ann } = await addLog(catalog, SHOP, "ann@example.org");
  const bob = await addAccount(catalog, "bob@example.org");
  const eve = await addAccount(catalog, "eve@example.org");
  await catalog.share(SHOP, "bob@example.org", "user");
  await catalog.createClassFilter(SHOP, filterOf("errors"));
  for (const user of [ann, bob, eve]) {
    await catalog.setClassOptions(user, SHOP, "errors", { alert: true, notify: user === bob, hide: false });
  }
  t.deepEqual(catalog.subscribers(SHOP, "errors", "alert"), [ann, bob].sort());
  t.deepEqual(catalog.subscribers(SHOP, "errors", "notify"), [bob]);
  t.deepEqual(catalog.subscribers(SHOP, "other", "alert"), []);
  await catalog.unshare(SHOP, "bob@example.org");
  t.deepEqual(catalog.subscribers(SHOP, "errors", "alert"), [ann]);
}
