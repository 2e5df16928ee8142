import type { ExecutionContext } from "ava";

import type { Catalog } from "../../src/catalog/catalog.ts";
import { MAX_SAVED_QUERIES } from "../../src/catalog/checks.ts";
import { MAX_HOOKS } from "../../src/catalog/hook-checks.ts";
import { LoggiaError } from "../../src/errors.ts";
import { PASSWORD, SHOP, SEEN_MS, seen, addAccount, addLog, filterOf, fails } from "./catalog-fixture.ts";

export async function restart(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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
  t.like(after.cachedHook(SHOP, "github"), { secret: hook.secret, template: { text: "{a}" } });
  t.is(after.cachedApiKey(secret)?.log, SHOP);
  t.is((await after.authenticate("ann@example.org", PASSWORD))?.id, ann);
  await t.notThrowsAsync(after.ping());
}

export async function following(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
  const [here, there] = [await start(), await start()];
  const { owner: ann, secret } = await addLog(here, SHOP, "ann@example.org");
  await seen("the log", () => there.roleOf(ann, SHOP) === "admin");
  t.is((await there.authenticate("ann@example.org", PASSWORD))?.id, ann);
  await here.createClassFilter(SHOP, filterOf("errors"));
  await here.setClassOptions(ann, SHOP, "errors", { alert: true, notify: false, hide: false });
  await seen("the subscriber", () => there.subscribers(SHOP, "errors", "alert").length === 1);
  t.deepEqual(there.classFilters(SHOP), here.classFilters(SHOP));
  await here.setApiKeyDisabled(SHOP, there.log(SHOP)!.apiKeys[0]!.id, true);
  await seen("the disabled key", () => there.cachedApiKey(secret)?.disabled);
  await here.setPassword("ann@example.org", "battery staple");
  await seen("the new password", async () => (await there.authenticate("ann@example.org", PASSWORD)) === null);
  t.is((await there.authenticate("ann@example.org", "battery staple"))?.id, ann);
  await here.deleteApiKey(SHOP, there.log(SHOP)!.apiKeys[0]!.id);
  await here.deleteClassFilter(SHOP, "errors");
  await seen("the removals", () => there.cachedApiKey(secret) === null && there.classFilters(SHOP).length === 0);
  t.deepEqual(there.logs(), here.logs());
}

export async function newKeyElsewhere(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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

export async function writesFindOthers(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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

export async function concurrency(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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
    for (const { secret, id } of issued) t.is(catalog.cachedApiKey(secret)?.id, id);
  }
}

export async function lastAdminRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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

export async function savedQueriesRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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

export async function hooksRace(t: ExecutionContext, start: () => Promise<Catalog>): Promise<void> {
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
