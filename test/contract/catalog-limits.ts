import type { ExecutionContext } from "ava";

import { documentId } from "../../src/catalog/model.ts";
import { DEFAULT_ACCOUNT_LIMITS } from "../../src/catalog/quotas.ts";
import type { LoggiaError } from "../../src/errors.ts";
import type { LogKey, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";
import type { DocumentsStorage } from "./documents-adapters.ts";
import { PASSWORD, SHOP, type Start, addAccount, addLog, filterOf, fails, open } from "./catalog-fixture.ts";

/**
 * Runs all work at once, in two processes in turn.
 * @returns how many calls succeeded, and the errors of the others
 */
export async function race(
  work: readonly (() => Promise<unknown>)[],
): Promise<{ done: number; refused: LoggiaError[] }> {
  const results = await Promise.allSettled(work.map((one) => one()));
  const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason as LoggiaError] : []));
  return { done: work.length - refused.length, refused };
}

export async function logsPerAccount(t: ExecutionContext, start: Start): Promise<void> {
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
  // A shared log counts for its creator, not for those it is shared with.
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

export async function logsPerMinute(t: ExecutionContext, start: Start): Promise<void> {
  // The clock stands still, so that a slow machine does not take more than the minute.
  const now_ms = Date.now();
  const processes = [await start(() => now_ms), await start(() => now_ms)] as const;
  const [here, there] = processes;
  const { owner: ann } = await addLog(here, SHOP, "ann@example.org");
  const { owner: bob } = await addLog(here, parseLogKey("of-bob")!, "bob@example.org");
  await there.refresh();
  const create = (name: string, n: number, owner = ann) =>
    processes[n % 2]!.createLog({ key: parseLogKey(name)!, display: "A log", owner });
  // Creating a log under a taken key counts as an attempt; under a key of the caller's own it does
  // not.
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

export async function noLogs(t: ExecutionContext, start: Start): Promise<void> {
  const catalog = await start();
  const ann = await addAccount(catalog, "ann@example.org");
  const create = (owner: UserId) => catalog.createLog({ key: SHOP, display: "A log", owner });
  await fails(t, "forbidden", create(ann), /Only service admins.*LOGGIA_LOGS_PER_ACCOUNT/);
  const { id } = await catalog.createAccount({ email: "root@example.org", password: PASSWORD, admin: true });
  t.is((await create(id)).log.key, SHOP);
  await fails(t, "forbidden", create(ann), /Only service admins/);
}

export async function heldTogether(t: ExecutionContext, start: Start): Promise<void> {
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

  // A removal in one process makes room in the other; existing entries may be changed.
  await here.deleteApiKey(held[0]!.key, held[0]!.apiKeys[0]!.id);
  await there.createApiKey(logs[1], "read-only");
  await fails(t, "forbidden", here.createApiKey(logs[1], "read-only"));
  const [log, { key }] = logs.flatMap((one) => here.classFilters(one).map((filter) => [one, filter] as const))[0]!;
  await fails(t, "class_filter_exists", there.createClassFilter(log, filterOf(key)));
  await there.deleteClassFilter(log, key);
  await here.createClassFilter(log, filterOf("another"));
  await there.share(SHOP, "ann@example.org", "admin");
}

export async function filledElsewhere(t: ExecutionContext, start: Start): Promise<void> {
  const [here, there] = [await start(), await start()];
  await addLog(here, SHOP, "ann@example.org");
  await here.createApiKey(SHOP, "read-only");
  await there.refresh();
  for (let n = 0; n < 6; n++) await here.createApiKey(SHOP, "read-only");
  await fails(t, "forbidden", there.createApiKey(SHOP, "read-only"), /LOGGIA_API_KEYS_PER/);
}

/** Tests reservations of processes that ended during a write or whose clock ran ahead. */
export async function reservationsLapse(t: ExecutionContext, storage: DocumentsStorage): Promise<void> {
  const documents = await storage.connect();
  const [now_ms, hour_ms] = [Date.now(), 3_600_000];
  const catalog = await open(t, storage, { ...DEFAULT_ACCOUNT_LIMITS, logs: 2, shares: 1 }, () => now_ms);
  const create = async (name: string, reserved: readonly { kind: string; until: number }[]) => {
    const owner = await addAccount(catalog, `${name}@example.org`);
    const places = reserved.map((one, n) => ({ ...one, id: `never-${n}` }));
    const quota = { kind: "quota", owner, reserved: places, attempts: [] };
    t.is((await documents.create(documentId.quota(owner), quota)).kind, "done");
    await catalog.refresh();
    return catalog.createLog({ key: parseLogKey(name)!, display: "A log", owner });
  };
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
