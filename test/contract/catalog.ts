import type { ExecutionContext, TestFn } from "ava";
import { pino } from "pino";

import type { AccountLimits, Catalog, ClassFilter } from "../../src/catalog/catalog.ts";
import { MAX_SAVED_QUERIES } from "../../src/catalog/checks.ts";
import { MAX_HOOKS } from "../../src/catalog/hook-checks.ts";
import { createCatalog } from "../../src/catalog/create.ts";
import { idOf } from "../../src/catalog/model.ts";
import { DEFAULT_ACCOUNT_LIMITS } from "../../src/catalog/quotas.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { LogKey, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import { until } from "../support/until.ts";
import type { Place } from "./documents-places.ts";

const PASSWORD = "correct horse";
const SHOP = parseLogKey("shop")!;

/** How soon every process knows what another one changed. */
const SEEN_MS = 2000;

type Start = () => Promise<Catalog>;
type Run = (t: ExecutionContext, start: Start) => Promise<void>;

/**
 * What the catalog keeps to over every adapter of its document store. `start` twice, and two
 * processes share the catalog.
 */
export function catalogContract(test: TestFn, name: string, take: (t: ExecutionContext) => Promise<Place>): void {
  const declare = (title: string, run: Run): void => {
    test(`${name}: ${title}`, async (t) => {
      const place = await take(t);
      await run(t, async () => open(t, place));
    });
  };
  declare("accounts are found by address without regard to case, and by id", accounts);
  declare("passwords are verified, changed, and gone with the account", passwords);
  declare("a log is created once, with its owner as admin and one key", logs);
  declare("a log changes its name and how long events are kept", logSettings);
  declare("shares give a role, and a log keeps an admin", shares);
  declare("a log belongs to the account that created it, also once that is gone", owners);
  test(`${name}: a log of an earlier release belongs to its first admin`, async (t) => {
    await ownersOfEarlierReleases(t, await take(t));
  });
  const limited = (title: string, limits: Partial<AccountLimits>, run: Run): void => {
    test(`${name}: ${title}`, async (t) => {
      const place = await take(t);
      await run(t, async () => open(t, place, { ...DEFAULT_ACCOUNT_LIMITS, ...limits }));
    });
  };
  limited("an account creates as many logs as it may, in all processes together", { logs: 6 }, logsPerAccount);
  limited("an account creates ten logs a minute, in all processes together", {}, logsPerMinute);
  limited("only service admins create logs where accounts may own none", { logs: 0 }, noLogs);
  test(`${name}: places that were reserved lapse, also where another clock was ahead`, async (t) => {
    await reservationsLapse(t, await take(t));
  });
  const few = { apiKeys: 8, classFilters: 6, shares: 5 };
  limited("what an owner's logs hold together is limited, in all processes together", few, heldTogether);
  limited("an owner's places that one process filled are full in another at once", few, filledElsewhere);
  declare("deleting an account removes its shares and options", deletion);
  declare("API keys open one log, until they are disabled or removed", apiKeys);
  declare("class filters are kept by key, as one array until it changes", classFilters);
  declare("options belong to one person and one life of a class", options);
  declare("subscribers are those who chose it and still have access", subscribers);
  declare("saved queries belong to one person and one log, and end with the account", savedQueries);
  declare("a person saves as many queries as they may, in all processes together", savedQueriesRace);
  declare("hooks belong to one log, and keep their secret until it is changed", hooks);
  declare("a log has as many hooks as it may, in all processes together", hooksRace);
  declare("all of it is there after a restart", restart);
  declare("what one process changes shows in the other within 2 s", following);
  declare("a new key opens at once in another process, and wrong ones cost few reads", newKeyElsewhere);
  declare("a write meant for what another process just made finds it", writesFindOthers);
  declare("twenty writers at once in two processes lose nothing", concurrency);
  declare("two processes cannot remove both admins of a log", lastAdminRace);
}

async function open(t: ExecutionContext, place: Place, limits = DEFAULT_ACCOUNT_LIMITS): Promise<Catalog> {
  const documents = await place.connect();
  const catalog = await createCatalog({ documents, log: pino({ level: "silent" }), limits });
  t.teardown(() => catalog[Symbol.asyncDispose]());
  return catalog;
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

/**
 * All of it at once, in two processes in turn. @returns how many were done, and why others were
 * refused
 */
async function race(work: readonly (() => Promise<unknown>)[]): Promise<{ done: number; refused: LoggiaError[] }> {
  const results = await Promise.allSettled(work.map((one) => one()));
  const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason as LoggiaError] : []));
  return { done: work.length - refused.length, refused };
}

async function logsPerAccount(t: ExecutionContext, start: Start): Promise<void> {
  const processes = [await start(), await start()] as const;
  const [here, there] = processes;
  const ann = await addAccount(here, "ann@example.org");
  await there.refresh();
  const keys = Array.from({ length: 9 }, (_, n) => parseLogKey(`shop-${n}`)!);
  const create = (key: LogKey, n: number) => processes[n % 2]!.createLog({ key, display: "A log", owner: ann });
  const { done, refused } = await race(keys.map((key, n) => () => create(key, n)));
  t.is(done, 6);
  t.true(refused.every(({ code }) => code === "forbidden"));
  t.regex(refused[0]!.message, /LOGGIA_LOGS_PER_ACCOUNT/);
  await Promise.all(processes.map((one) => one.refresh()));
  t.is(here.logsOf(ann).length, 6);
  await fails(t, "log_exists", create(here.logsOf(ann)[0]!.key, 0));
  // Logs that others share count for them, and a log stays its creator's.
  const bob = await addAccount(here, "bob@example.org");
  const { key } = here.logsOf(ann)[0]!;
  await here.share(key, "bob@example.org", "admin");
  await here.unshare(key, "ann@example.org");
  await fails(t, "forbidden", create(parseLogKey("one-more")!, 1));
  await there.createLog({ key: parseLogKey("of-bob")!, display: "Bob's", owner: bob });
  const admin = await here.createAccount({ email: "root@example.org", password: PASSWORD, admin: true });
  for (let n = 0; n < 12; n++) {
    await here.createLog({ key: parseLogKey(`admin-${n}`)!, display: "Admin's", owner: admin.id });
  }
}

async function logsPerMinute(t: ExecutionContext, start: Start): Promise<void> {
  const processes = [await start(), await start()] as const;
  const [here, there] = processes;
  const { owner: ann } = await addLog(here, SHOP, "ann@example.org");
  const { owner: bob } = await addLog(here, parseLogKey("of-bob")!, "bob@example.org");
  await there.refresh();
  const create = (name: string, n: number, owner = ann) =>
    processes[n % 2]!.createLog({ key: parseLogKey(name)!, display: "A log", owner });
  // A key that is taken is an attempt; one's own log is not.
  await fails(t, "log_exists", create("of-bob", 1));
  for (let n = 0; n < 12; n++) await fails(t, "log_exists", create("shop", n));
  const { done, refused } = await race(Array.from({ length: 12 }, (_, n) => () => create(`log-${n}`, n)));
  t.is(done, 8);
  t.true(refused.every(({ code }) => code === "too_many_requests"));
  t.true(refused.every(({ retryAfter_s }) => retryAfter_s! > 30 && retryAfter_s! <= 60));
  t.regex(refused[0]!.message, /10 logs a minute/);
  await fails(t, "too_many_requests", create("of-bob", 0));
  await fails(t, "too_many_requests", create("nobodys", 0));
  await create("by-bob", 1, bob);
}

async function noLogs(t: ExecutionContext, start: Start): Promise<void> {
  const catalog = await start();
  const ann = await addAccount(catalog, "ann@example.org");
  const create = (owner: UserId) => catalog.createLog({ key: SHOP, display: "A log", owner });
  await fails(t, "forbidden", create(ann), /Only service admins.*LOGGIA_LOGS_PER_ACCOUNT/);
  const { id } = await catalog.createAccount({ email: "root@example.org", password: PASSWORD, admin: true });
  t.is((await create(id)).log.key, SHOP);
  await fails(t, "forbidden", create(ann), /Only service admins/);
}

async function heldTogether(t: ExecutionContext, start: Start): Promise<void> {
  const processes = [await start(), await start()] as const;
  const [here, there] = processes;
  const { owner } = await addLog(here, SHOP, "ann@example.org");
  const logs = [SHOP, parseLogKey("second")!] as const;
  await here.createLog({ key: logs[1], display: "Second", owner });
  const emails = Array.from({ length: 5 }, (_, n) => `user-${n}@example.org`);
  await Promise.all(emails.map((email) => addAccount(here, email)));
  await there.refresh();
  const times = Array.from({ length: 10 }, (_, n) => n);
  const of = (n: number) => [processes[n % 2]!, logs[(n >> 1) % 2]!] as const;

  const keys = await race(times.map((n) => () => of(n)[0].createApiKey(of(n)[1], "write-only")));
  t.is(keys.done, 6, "with the two that came with the logs");
  t.true(keys.refused.every(({ code, message }) => code === "forbidden" && /LOGGIA_API_KEYS_PER/.test(message)));
  const filters = await race(times.map((n) => () => of(n)[0].createClassFilter(of(n)[1], filterOf(`class-${n}`))));
  t.is(filters.done, 6);
  t.true(filters.refused.every(({ code, message }) => code === "forbidden" && /LOGGIA_CLASS_FILTERS/.test(message)));
  const shares = await race(emails.map((email, n) => () => of(n)[0].share(of(n)[1], email, "user")));
  t.is(shares.done, 3, "with its owner's in each log");
  t.true(shares.refused.every(({ code, message }) => code === "forbidden" && /LOGGIA_SHARES/.test(message)));

  await Promise.all(processes.map((one) => one.refresh()));
  const held = logs.map((log) => here.log(log)!);
  const sum = (count: (log: LogKey) => number): number => logs.reduce((all, log) => all + count(log), 0);
  t.is(
    sum((log) => here.log(log)!.apiKeys.length),
    8,
  );
  t.is(
    sum((log) => here.classFilters(log).length),
    6,
  );
  t.is(
    sum((log) => here.log(log)!.shares.length),
    5,
  );

  // What was removed in one process makes room in the other; what is there may be changed.
  await here.deleteApiKey(held[0]!.key, held[0]!.apiKeys[0]!.id);
  await there.createApiKey(logs[1], "read-only");
  await fails(t, "forbidden", here.createApiKey(logs[1], "read-only"));
  const [log, { key }] = logs.flatMap((one) => here.classFilters(one).map((filter) => [one, filter] as const))[0]!;
  await fails(t, "class_filter_exists", there.createClassFilter(log, filterOf(key)));
  await there.deleteClassFilter(log, key);
  await here.createClassFilter(log, filterOf("another"));
  await there.share(SHOP, "ann@example.org", "admin");
}

async function filledElsewhere(t: ExecutionContext, start: Start): Promise<void> {
  const [here, there] = [await start(), await start()];
  await addLog(here, SHOP, "ann@example.org");
  await here.createApiKey(SHOP, "read-only");
  await there.refresh();
  for (let n = 0; n < 6; n++) await here.createApiKey(SHOP, "read-only");
  await fails(t, "forbidden", there.createApiKey(SHOP, "read-only"), /LOGGIA_API_KEYS_PER/);
}

/** With what processes left that ended amid a write, or had a clock that ran ahead. */
async function reservationsLapse(t: ExecutionContext, place: Place): Promise<void> {
  const documents = await place.connect();
  const catalog = await open(t, place, { ...DEFAULT_ACCOUNT_LIMITS, logs: 2, shares: 1 });
  const create = async (name: string, reserved: readonly { kind: string; until: number }[]) => {
    const owner = await addAccount(catalog, `${name}@example.org`);
    const places = reserved.map((one, n) => ({ ...one, id: `never-${n}` }));
    const quota = { kind: "quota", owner, reserved: places, attempts: [] };
    t.is((await documents.create(idOf.quota(owner), quota)).kind, "done");
    await catalog.refresh();
    return catalog.createLog({ key: parseLogKey(name)!, display: "A log", owner });
  };
  const [now_ms, hour_ms] = [Date.now(), 3_600_000];
  const two = (until: number) => [0, 1].map(() => ({ kind: "logs", until }));
  await fails(t, "forbidden", create("held", two(now_ms + 60_000)), /LOGGIA_LOGS_PER_ACCOUNT/);
  await create("lapsed", two(now_ms - 1));
  await fails(t, "forbidden", create("ahead", two(now_ms + hour_ms)), /LOGGIA_LOGS_PER_ACCOUNT/);
  const ends = (await documents.changes(null)).documents
    .flatMap(({ body }) => (body?.["reserved"] ?? []) as readonly { until: number }[])
    .map(({ until }) => until);
  t.true(Math.max(...ends) < now_ms + hour_ms);
  const shares = [{ kind: "shares", until: now_ms + 60_000 }];
  await fails(t, "forbidden", create("shared", shares), /LOGGIA_SHARES/);
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

async function ownersOfEarlierReleases(t: ExecutionContext, place: Place): Promise<void> {
  const documents = await place.connect();
  const before = await open(t, place);
  const [ann, bob, eve] = await Promise.all(["ann", "bob", "eve"].map((name) => addAccount(before, `${name}@b.org`)));
  const log = { kind: "log", key: SHOP, display: "Shop", retentionDays: null, apiKeys: [] };
  const shares = [
    { user: eve!, role: "user" },
    { user: bob!, role: "admin" },
    { user: ann!, role: "admin" },
  ];
  t.is((await documents.create(idOf.log(SHOP), { ...log, shares })).kind, "done");
  const [here, there] = [await open(t, place), await open(t, place)];
  t.is(here.ownerOf(SHOP), bob!);
  t.is(there.ownerOf(SHOP), bob!);
  await here.unshare(SHOP, "bob@b.org");
  await there.refresh();
  t.is(here.ownerOf(SHOP), bob!, "also when that admin has left");
  t.is(there.ownerOf(SHOP), bob!);
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
  t.like(catalog.knownApiKey(secret), { log: SHOP, scope: "read-write", disabled: false });
  t.is(catalog.knownApiKey(secret.toUpperCase()), null);
  t.is(await catalog.apiKey("lg_unknown"), null);
  t.is(await catalog.apiKey(""), null);
  const writer = await catalog.createApiKey(SHOP, "write-only");
  t.not(writer.secret, secret);
  t.deepEqual(await catalog.apiKey(writer.secret), { log: SHOP, id: writer.id, scope: "write-only", disabled: false });
  t.like(await catalog.setApiKeyDisabled(SHOP, writer.id, true), { id: writer.id, disabled: true });
  t.true(catalog.knownApiKey(writer.secret)?.disabled);
  t.false((await catalog.setApiKeyDisabled(SHOP, writer.id, false)).disabled);
  t.false(catalog.knownApiKey(writer.secret)?.disabled);
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
  t.is(catalog.knownApiKey("my-own-secret")?.log, other);
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

async function savedQueriesRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  const { owner } = await addLog(here, SHOP, "ann@example.org");
  await there.refresh();
  const attempts = await Promise.allSettled(
    Array.from({ length: MAX_SAVED_QUERIES + 10 }, (_, i) =>
      (i % 2 === 0 ? here : there).saveQuery(SHOP, owner, {
        name: `Query ${i}`,
        query: "GET events",
        tz: "",
        shared: false,
      }),
    ),
  );
  const refused = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason as unknown] : []));
  t.is(refused.length, 10);
  t.true(refused.every((error) => error instanceof LoggiaError && error.code === "conflict"));
  await here.refresh();
  t.is(here.savedQueries(SHOP, owner).length, MAX_SAVED_QUERIES);
}

async function hooks(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [catalog, there] = [await start(), await start()];
  await addLog(catalog, SHOP, "ann@example.org");
  const other = parseLogKey("other")!;
  t.deepEqual(catalog.hooks(SHOP), []);
  const made = await catalog.createHook(SHOP, { name: "GitHub", signature: "github" });
  t.like(made, { name: "github", kind: "github", signature: "github", template: null });
  t.regex(made.secret!, /^whsec_[A-Za-z0-9+/]{43}=$/);
  t.is((await there.receivingHook(SHOP, "GITHUB"))?.secret, made.secret!, "another process looks for it");
  t.is(await there.receivingHook(other, "github"), null);
  t.is(await there.receivingHook(SHOP, "no hook's name"), null);
  t.is(catalog.knownHook(SHOP, "github")?.secret, made.secret!);
  t.deepEqual(
    catalog.hooks(SHOP).map((hook) => Object.keys(hook).toSorted()),
    [["created", "kind", "name", "signature", "template"]],
    "lists show no secret",
  );

  const chosen = await catalog.createHook(SHOP, { name: "billing", secret: `whsec_${"A".repeat(32)}` });
  t.like(chosen, { kind: "json", signature: "standard", secret: null });
  t.deepEqual(
    catalog.hooks(SHOP).map(({ name }) => name),
    ["billing", "github"],
  );
  await fails(t, "hook_exists", catalog.createHook(SHOP, { name: "Billing" }), /billing already/);
  await fails(t, "log_not_found", catalog.createHook(other, { name: "billing" }), /other/);
  await fails(t, "bad_parameter", catalog.createHook(SHOP, { name: "a b" }), /field name/);
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "github", secret: "short" }),
    /8 to 200/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "none", secret: "long enough" }),
    /signature/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", signature: "standard", secret: "not-base64!" }),
    /whsec_/,
  );
  await fails(
    t,
    "bad_parameter",
    catalog.createHook(SHOP, { name: "x", template: { text: "{a" } }),
    /template\.text .*end/,
  );

  t.is((await catalog.updateHook(SHOP, "github", { signature: "github", template: { text: "{a}" } })).secret, null);
  t.is(catalog.knownHook(SHOP, "github")?.secret, made.secret!, "kept where none is given");
  await catalog.updateHook(SHOP, "github", { signature: "github", secret: "another-secret" });
  t.like(catalog.knownHook(SHOP, "github"), { secret: "another-secret", template: null });
  await catalog.updateHook(SHOP, "github", { signature: "none" });
  t.is(catalog.knownHook(SHOP, "github")?.secret, undefined);
  t.regex((await catalog.updateHook(SHOP, "github", { signature: "github" })).secret!, /^whsec_/, "drawn anew");
  await fails(t, "hook_not_found", catalog.updateHook(SHOP, "gone", {}), /gone/);
  await catalog.deleteHook(SHOP, "GITHUB");
  await fails(t, "hook_not_found", catalog.deleteHook(SHOP, "github"), /github/);
  await catalog.deleteHook(SHOP, "billing");
  t.deepEqual(catalog.hooks(SHOP), []);
}

async function hooksRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  await addLog(here, SHOP, "ann@example.org");
  await there.refresh();
  const attempts = await Promise.allSettled(
    Array.from({ length: MAX_HOOKS + 6 }, (_, i) =>
      (i % 2 === 0 ? here : there).createHook(SHOP, { name: `hook-${i}` }),
    ),
  );
  const refused = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason as unknown] : []));
  t.is(refused.length, 6);
  t.true(refused.every((error) => error instanceof LoggiaError && error.code === "conflict"));
  await here.refresh();
  t.is(here.hooks(SHOP).length, MAX_HOOKS);
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

async function restart(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const before = await start();
  const { owner: ann, secret } = await addLog(before, SHOP, "ann@example.org");
  await before.createClassFilter(SHOP, filterOf("errors"));
  await before.createClassFilter(SHOP, filterOf("gone"));
  await before.deleteClassFilter(SHOP, "gone");
  await before.setClassOptions(ann, SHOP, "errors", { alert: true, notify: false, hide: false });
  await before.saveQuery(SHOP, ann, { name: "All", query: "GET events", tz: "", shared: false });
  const hook = await before.createHook(SHOP, { name: "github", signature: "github", template: { text: "{a}" } });
  await before[Symbol.asyncDispose]();
  const after = await start();
  t.deepEqual(after.accounts(), before.accounts());
  t.deepEqual(after.logs(), before.logs());
  t.deepEqual(after.classFilters(SHOP), [filterOf("errors")]);
  t.deepEqual(after.subscribers(SHOP, "errors", "alert"), [ann]);
  t.is(after.savedQuery(SHOP, ann, "all")?.query, "GET events");
  t.like(after.knownHook(SHOP, "github"), { secret: hook.secret, template: { text: "{a}" } });
  t.is(after.knownApiKey(secret)?.log, SHOP);
  t.is((await after.authenticate("ann@example.org", PASSWORD))?.id, ann);
  await t.notThrowsAsync(after.ping());
}

async function following(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  const { owner: ann, secret } = await addLog(here, SHOP, "ann@example.org");
  await seen("the log", () => there.roleOf(ann, SHOP) === "admin");
  t.is((await there.authenticate("ann@example.org", PASSWORD))?.id, ann);
  await here.createClassFilter(SHOP, filterOf("errors"));
  await here.setClassOptions(ann, SHOP, "errors", { alert: true, notify: false, hide: false });
  await seen("the subscriber", () => there.subscribers(SHOP, "errors", "alert").length === 1);
  t.deepEqual(there.classFilters(SHOP), here.classFilters(SHOP));
  await here.setApiKeyDisabled(SHOP, there.log(SHOP)!.apiKeys[0]!.id, true);
  await seen("the disabled key", () => there.knownApiKey(secret)?.disabled);
  await here.setPassword("ann@example.org", "battery staple");
  await seen("the new password", async () => (await there.authenticate("ann@example.org", PASSWORD)) === null);
  t.is((await there.authenticate("ann@example.org", "battery staple"))?.id, ann);
  await here.deleteApiKey(SHOP, there.log(SHOP)!.apiKeys[0]!.id);
  await here.deleteClassFilter(SHOP, "errors");
  await seen("the removals", () => there.knownApiKey(secret) === null && there.classFilters(SHOP).length === 0);
  t.deepEqual(there.logs(), here.logs());
}

async function newKeyElsewhere(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  const { secret } = await addLog(here, SHOP, "ann@example.org");
  t.is((await there.apiKey(secret))?.log, SHOP);
  const next = await here.createApiKey(SHOP, "read-only");
  const started = performance.now();
  const wrong = Array.from({ length: 500 }, (_, n) => there.apiKey(`lg_wrong_${n}`));
  t.is((await there.apiKey(next.secret))?.id, next.id);
  t.true((await Promise.all(wrong)).every((grant) => grant === null));
  t.true(performance.now() - started < SEEN_MS, "500 unknown keys share their looks");
}

async function writesFindOthers(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  await addLog(here, SHOP, "ann@example.org");
  const key = await here.createApiKey(SHOP, "read-only");
  t.true((await there.setApiKeyDisabled(SHOP, key.id, true)).disabled);
  const bob = await addAccount(here, "bob@example.org");
  await there.share(SHOP, "bob@example.org", "user");
  t.is(there.roleOf(bob, SHOP), "user");
  await here.createClassFilter(SHOP, filterOf("errors"));
  await fails(t, "class_filter_exists", there.createClassFilter(SHOP, filterOf("errors")));
  await here.createClassFilter(SHOP, filterOf("alarms"));
  await there.setClassOptions(bob, SHOP, "alarms", { alert: true, notify: false, hide: false });
  t.deepEqual(there.subscribers(SHOP, "alarms", "alert"), [bob]);
  await here.deleteClassFilter(SHOP, "errors");
  await there.createClassFilter(SHOP, filterOf("errors", { weight: 3 }));
  await there.setPassword("bob@example.org", "battery staple");
  await there.deleteAccount("bob@example.org");
}

async function concurrency(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const processes = [await start(), await start()] as const;
  await addLog(processes[0], SHOP, "owner@example.org");
  const emails = Array.from({ length: 4 }, (_, n) => `user-${n}@example.org`);
  for (const email of emails) await addAccount(processes[0], email);
  const keys = Array.from({ length: 20 }, (_, n) => processes[n % 2]!.createApiKey(SHOP, "write-only"));
  const shared = emails.map((email, n) => processes[n % 2]!.share(SHOP, email, "user"));
  const issued = await Promise.all(keys);
  await Promise.all(shared);
  for (const catalog of processes) {
    await catalog.refresh();
    t.is(catalog.log(SHOP)?.apiKeys.length, 21);
    t.is(catalog.log(SHOP)?.shares.length, 5);
    for (const { secret, id } of issued) t.is(catalog.knownApiKey(secret)?.id, id);
  }
}

async function lastAdminRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  await addLog(here, SHOP, "ann@example.org");
  await addAccount(here, "bob@example.org");
  await here.share(SHOP, "bob@example.org", "admin");
  await there.refresh();
  const results = await Promise.allSettled([
    here.unshare(SHOP, "ann@example.org"),
    there.unshare(SHOP, "bob@example.org"),
  ]);
  t.deepEqual(results.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  await here.refresh();
  t.is(here.log(SHOP)?.shares.filter(({ role }) => role === "admin").length, 1);
}

function seen(what: string, condition: () => unknown): Promise<unknown> {
  return until(condition, { what, timeout_ms: SEEN_MS });
}

async function addAccount(catalog: Catalog, email: string, password = PASSWORD): Promise<UserId> {
  return (await catalog.createAccount({ email, password, admin: false })).id;
}

async function addLog(catalog: Catalog, key: LogKey, email: string): Promise<{ owner: UserId; secret: string }> {
  const owner = await addAccount(catalog, email);
  const { apiKey } = await catalog.createLog({ key, display: "A log", owner });
  return { owner, secret: apiKey.secret };
}

function filterOf(key: string, change: Partial<ClassFilter> = {}): ClassFilter {
  return { key, display: "", color: "red", tag: key, text: "", link: "", source: "", weight: 0, ...change };
}

async function fails(t: ExecutionContext, code: ErrorCode, work: Promise<unknown>, message = /./): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: LoggiaError, message });
  t.is(error.code, code, error.message);
}
