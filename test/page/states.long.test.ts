import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";
import { answerQueries, catchLine, waitForPreload } from "./support/states.ts";

const pages = sharePages();
const DAY_MS = 86_400_000;
const search = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;
const listOf = (source: string, more = "") => search(`GET events WHERE source = '${source}'`, more);
const queryOf = (page: Page) => page.getByRole("textbox", { name: /Query/ });
const titled = (page: Page, title: string) => page.locator(".msg", { has: page.getByRole("heading", { name: title }) });

// One at a time: together they would exceed an account's limit of concurrent queries.
test.serial("while the service is unreachable the last list stays, and the page recovers by itself", async (t) => {
  await pages.post([{ text: "seen before", source: "away" }]);
  const { page, context, problems } = await pages.open(t, { address: listOf("away") });
  const row = page.locator("#list").getByText("seen before");
  await row.waitFor();
  await waitForPreload(page);
  problems.allowNoAnswer();
  await context.route("**/*", (route) => route.abort());
  const query = queryOf(page);
  await query.fill("GET events WHERE source = 'away' TAKE 5");
  await page.getByRole("button", { name: "Run" }).dispatchEvent("click");
  const message = titled(page, "No answer from the service");
  await message.waitFor();
  await query.fill("GET events WHERE text = 'half typed");
  // Screen readers announce it once, not every second.
  const said = await page.evaluateHandle(() => {
    const words: string[] = [];
    const note = () => {
      for (const region of document.querySelectorAll("[role=status], [role=alert], [aria-live=polite]"))
        if (!words.includes(region.textContent)) words.push(region.textContent);
    };
    new MutationObserver(note).observe(document.body, { subtree: true, childList: true, characterData: true });
    return words;
  });
  await catchLine(page, /^Trying again in 4 s\. The events shown were loaded at \d\d:\d\d:\d\d\.$/);
  t.true(await row.isVisible());
  t.deepEqual(
    (await said.jsonValue()).filter((words) => /\d s\b/.test(words)),
    [],
  );
  await assertAccessible(t, page, "a list while the service is away");
  await pages.post([{ text: "come meanwhile", source: "away" }]);
  await context.unroute("**/*");
  await page.locator("#list").getByText("come meanwhile").waitFor();
  await message.waitFor({ state: "detached" });
  t.is(await query.inputValue(), "GET events WHERE text = 'half typed");
  t.false(new URL(page.url()).hash.includes("half"));
});

test.serial("the button retries at once, and the focus stays in the page", async (t) => {
  await pages.post([{ text: "tried at once", source: "tried" }]);
  const { page, problems } = await pages.open(t, { address: listOf("nothing-of-this-name") });
  problems.allowStatus(502);
  await page.getByRole("heading", { name: "No events match" }).waitFor();
  const stop = await answerQueries(page, { status: 502, text: "<html>Bad gateway" });
  await queryOf(page).fill("GET events WHERE source = 'tried'");
  await queryOf(page).press("Enter");
  const message = titled(page, "No answer from the service");
  await message.waitFor();
  await catchLine(page, /Trying again in [48] s/);
  // Before queries are answered: the page may try by itself before the key is pressed.
  await message.getByRole("button", { name: "Try now" }).focus();
  await stop();
  await page.keyboard.press("Enter");
  await page.locator("#list").getByText("tried at once").waitFor();
  t.is(await page.evaluate(() => document.activeElement?.id), "main");
});

test.serial("a query that waits for others of the account starts by itself, or is cancelled", async (t) => {
  await pages.post([{ text: "waited for", source: "waits" }]);
  const { page, problems } = await pages.open(t, { address: listOf("waits") });
  await page.locator("#list").getByText("waited for").waitFor();
  problems.allowStatus(429);
  const message = "You have 8 queries running and more waiting; wait for some to finish";
  const refused = { status: 429, code: "too_many_requests", message, retryAfter_s: 1 };
  const stop = await answerQueries(page, refused);
  await page.getByRole("button", { name: "Run" }).click();
  const waits = titled(page, "Eight queries are running for your account");
  await waits.getByText("This one starts by itself as soon as one ends.").waitFor();
  await assertAccessible(t, page, "a query that waits for others");
  await waits.getByRole("button", { name: "Cancel this one" }).click();
  await waits.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Cancelled" }).waitFor();
  await page.getByRole("button", { name: "Run" }).click();
  await waits.waitFor();
  await stop();
  await waits.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "1 event", exact: true }).waitFor();
});

test.serial("a busy service is retried when it says, a query that takes too long is not", async (t) => {
  await pages.post([{ text: "not lost", source: "busy" }]);
  const { page, problems } = await pages.open(t, { address: listOf("busy") });
  await page.locator("#list").getByText("not lost").waitFor();
  problems.allowStatus(503);
  const common = { status: 503, code: "overloaded", message: "Too many queries are running; try again shortly" };
  const stop = await answerQueries(page, { ...common, retryAfter_s: 9 });
  await page.getByRole("button", { name: "Run" }).click();
  const busy = titled(page, "The service is busy");
  await busy.waitFor();
  await catchLine(page, /^Trying again in [789] s\. The events shown were loaded at/);
  await assertAccessible(t, page, "a busy service");
  let asked = 0;
  const message = "The query took longer than 30 s: narrow it, for example by time";
  const next = await answerQueries(page, { ...common, message, retryAfter_s: 1 }, () => (asked += 1));
  await stop();
  const long = titled(page, "This query takes too long");
  await long.waitFor();
  await assertAccessible(t, page, "a query that takes too long");
  await quiet(page);
  const before = asked;
  await sleep(3_000);
  t.is(asked, before);
  t.true(await page.locator("#list").getByText("not lost").isVisible());
  await next();
  await long.getByRole("button", { name: "Last hour" }).click();
  await long.waitFor({ state: "detached" });
  t.true(new URL(page.url()).hash.includes("t=1h"));
});

test.serial("forbidden, missing and refused requests are reported with one next step", async (t) => {
  await pages.post([{ text: "still below", source: "refused" }]);
  const { page, problems } = await pages.open(t, { address: listOf("refused") });
  await page.locator("#list").getByText("still below").waitFor();
  problems.allowStatus(400, 403, 404);
  const run = async (answer: Parameters<typeof answerQueries>[1], title: string, what: string) => {
    const stop = await answerQueries(page, answer);
    await page.getByRole("button", { name: "Run" }).click();
    await titled(page, title).waitFor();
    t.is(await titled(page, title).getByRole("button").count(), 1);
    t.true(await page.locator("#list").getByText("still below").isVisible());
    await assertAccessible(t, page, what);
    await stop();
  };
  await run(
    { status: 403, code: "forbidden", message: "No" },
    `You may not read the events of ${LOG}`,
    "a list that is forbidden",
  );
  const gone = `There is no log “${LOG}”, or it is not shared with you`;
  await run({ status: 404, code: "log_not_found", message: "No" }, gone, "a log that is shared no more");
  await queryOf(page).fill("GET events WHERE text MATCHES '(?=a)b'");
  await page.locator(".shade u").waitFor();
  await page.getByRole("button", { name: "Run" }).dispatchEvent("click");
  t.is(await titled(page, gone).count(), 1);
});

test.serial("a query that the service refuses is reported with its place, and marked in the query", async (t) => {
  const { page, problems } = await pages.open(t, { address: search("GET events WHERE text MATCHES '(?=a)b'") });
  problems.allowStatus(400);
  const message = page.locator(".msg.bad", { hasText: /Line 1, column \d+/ });
  await message.waitFor();
  await assertAccessible(t, page, "a query that is refused");
  await message.getByRole("button", { name: "Show in the query" }).click();
  const selected = await queryOf(page).evaluate((field) => {
    const { value, selectionStart, selectionEnd } = field as HTMLTextAreaElement;
    return value.slice(selectionStart, selectionEnd);
  });
  t.is(selected, "(");
});

test.serial("a slow query is reported after a while, and cancelling aborts its requests", async (t) => {
  await pages.post([{ text: "found before", source: "slow" }]);
  const { page, problems } = await pages.open(t, { address: listOf("slow", "&from=-180d") });
  await page.locator("#list").getByText("found before").waitFor();
  await waitForPreload(page);
  problems.allowNoAnswer();
  await page.route(/\/1\/logs\/.*(?:query|fields)/, () => undefined);
  const aborted: string[] = [];
  page.on("requestfailed", (request) => aborted.push(request.failure()?.errorText ?? ""));
  const started = performance.now();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("progressbar", { name: "Searching" }).waitFor();
  const slow = page.locator(".msg", { hasText: "Still searching" });
  await slow.getByText("The range is 180 days. A shorter one is faster.").waitFor();
  t.true(performance.now() - started > 3_000);
  const counted_s = await page.waitForFunction(() => {
    const heading = [...document.querySelectorAll(".msg h2")].find(({ textContent }) =>
      textContent.startsWith("Still"),
    );
    const passed_s = Number(/^Still searching, (\d+) s$/.exec(heading?.textContent ?? "")?.[1]);
    return passed_s >= 5 ? passed_s : null;
  });
  const passed_s = (performance.now() - started) / 1000;
  t.true((await counted_s.jsonValue())! <= passed_s + 1, `it counts what has passed, ${passed_s} s`);
  t.true(await page.locator("#list").getByText("found before").isVisible());
  await assertAccessible(t, page, "a slow query");
  t.true(await slow.getByRole("button", { name: "Last 7 days" }).isVisible());
  await slow.getByRole("button", { name: "Cancel" }).click();
  await slow.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Cancelled" }).waitFor();
  await until(() => aborted.length >= 3, { what: "requests that were ended" });
  t.deepEqual([...new Set(aborted)], ["net::ERR_ABORTED"]);
  t.true(await page.locator("#list").getByText("found before").isVisible());
});

test.serial("a slow first query shows placeholders for its rows and no list", async (t) => {
  const { page } = await pages.open(t, { address: "#/you" });
  await page.locator(".pane h1").waitFor();
  await page.route(/\/1\/logs\/.*(?:query|fields)/, () => undefined);
  await page.goto(`/${listOf("outline")}`);
  await page.locator(".list.outline").waitFor();
  await page.locator(".msg", { hasText: "Still searching" }).waitFor();
  await assertAccessible(t, page, "a slow first query");
});

test.serial("a query without matches offers the value that was probably meant", async (t) => {
  await pages.post([{ text: "paid", source: "payments" }]);
  const { page } = await pages.open(t, { address: listOf("payment") });
  const words = "In the last 24 hours no event has the source “payment”. The log has a source “payments”.";
  await page.getByText(words, { exact: true }).waitFor();
  await assertAccessible(t, page, "nothing found, with a value that is near");
  await page.getByRole("button", { name: "Use payments" }).click();
  await page.locator("#list").getByText("paid", { exact: true }).waitFor();
  t.is(await queryOf(page).inputValue(), "GET events WHERE source = 'payments'");
  await page.goBack();
  await page.getByText(words, { exact: true }).waitFor();
});

test.serial("a query without matches offers a longer range with events, or else fewer conditions", async (t) => {
  await pages.post([
    { text: "long ago", source: "archive", created: new Date(Date.now() - 20 * DAY_MS).toISOString() },
  ]);
  const { page } = await pages.open(t, { address: listOf("archive") });
  await page.getByText(/^In the last 24 hours no event has the source “archive”\. The newest match is from /).waitFor();
  await assertAccessible(t, page, "nothing found in a range");
  await page.getByRole("button", { name: "Last 30 days" }).click();
  await page.locator("#list").getByText("long ago").waitFor();
  await page.goto(`/${search("GET events WHERE source = 'archive' AND text CONTAINS 'xyzzy'")}`);
  await page.getByText("In the last 24 hours no event meets all 2 conditions. No other range has one.").waitFor();
  await assertAccessible(t, page, "nothing found in any range");
  await page.getByRole("button", { name: "All events" }).click();
  await page.locator("#list .row").first().waitFor();
});

test.serial("a query with matches sends no further requests", async (t) => {
  await pages.post([{ text: "one that is found", source: "asked-once" }]);
  const { page } = await pages.open(t, { address: "#/you" });
  await page.locator(".pane h1").waitFor();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(decodeURIComponent(request.url())));
  await page.goto(`/${listOf("asked-once")}`);
  await page.locator("#list").getByText("one that is found").waitFor();
  await waitForPreload(page);
  t.deepEqual(
    asked.filter((url) => /prefix=source|TAKE[ +]1$|nothing-found/.test(url)),
    [],
  );
});

test.serial("outdated data beside the list is marked as such and read again automatically", async (t) => {
  await pages.post([{ text: "beside", source: "beside" }]);
  const { page, problems } = await pages.open(t, { address: listOf("beside") });
  const bar = page.locator(".plot .b");
  await bar.first().waitFor();
  problems.allowStatus(429);
  const isBars = /\/query\?.*GROUPBY\+MINUTES/;
  await page.route(isBars, (route) => route.fulfill({ status: 429, body: "slowly" }));
  await page.getByRole("button", { name: "Run" }).click();
  const note = page.locator(".hist").getByText("Not up to date", { exact: true });
  await note.waitFor();
  t.true((await bar.count()) > 0);
  t.is(await page.locator(".msg").count(), 0);
  await assertAccessible(t, page, "bars that are not up to date");
  await page.unroute(isBars);
  await note.waitFor({ state: "detached" });
  await page.locator(".hist").getByText("15-min bars").waitFor();
});

test.serial("groups and patterns stay below the error that stopped the next ones", async (t) => {
  await pages.post([{ text: "grouped 1", source: "grouped" }]);
  for (const [what, address] of [
    ["groups", search("GET events WHERE source = 'grouped' GROUPBY source COLUMNS(KEY, COUNT)")],
    ["patterns", listOf("grouped", "&view=patterns")],
  ] as const) {
    const { page, problems } = await pages.open(t, { address });
    await page.locator("table").first().waitFor();
    problems.allowStatus(503);
    const stop = await answerQueries(page, { status: 503, code: "store_unavailable", message: "No", retryAfter_s: 60 });
    await page.getByRole("button", { name: "Run" }).click();
    const message = titled(page, "The service cannot reach its events");
    await message.getByText(new RegExp(`The ${what} shown were loaded at`)).waitFor();
    t.true(await page.locator("table").first().isVisible());
    await assertAccessible(t, page, `${what} that could not be read`);
    await stop();
    await message.getByRole("button", { name: "Try now" }).click();
    await message.waitFor({ state: "detached" });
  }
});
