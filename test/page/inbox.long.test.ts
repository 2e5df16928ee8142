import test from "ava";
import type { ExecutionContext } from "ava";
import type { APIResponse, BrowserContext, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { pressInTurn, stopClock, within } from "./support/clock.ts";
import { postEvents, sharePages } from "./support/pages.ts";
import type { NewEvent } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };

async function call(context: BrowserContext, method: string, path: string, data?: object): Promise<APIResponse> {
  const response = await context.request.fetch(path, { method, headers: HEADERS, ...(data && { data }) });
  if (!response.ok()) throw new Error(`${method} ${path} was answered ${response.status()}`);
  return response;
}

type Alarm = { readonly log?: string; readonly post?: (events: readonly NewEvent[]) => Promise<unknown> };

/** Raises alerts about events of the test's own class, and waits for them. */
async function alarm(
  context: BrowserContext,
  cls: string,
  count: number,
  { log = LOG, post = pages.post }: Alarm = {},
): Promise<void> {
  await call(context, "POST", `/manage/1/logs/${log}/classFilters`, {
    key: cls,
    display: `Class ${cls}`,
    color: "crimson",
    tag: cls,
  });
  const options = { alert: true, notify: false, hide: false };
  await call(context, "PUT", `/manage/1/logs/${log}/classFilters/${cls}/options`, options);
  const before = await unseen(context, cls);
  // Another process may not know the class yet, and an event without an alert never gets one.
  await until(
    async () => {
      await post(Array.from({ length: count }, (_, i) => alarmOf(cls, i)));
      return (await unseen(context, cls)) >= before + count;
    },
    { what: "the alerts" },
  );
}

function alarmOf(cls: string, number: number): NewEvent {
  return { text: `alarm ${number} of ${cls}`, tags: [cls], source: "gate" };
}

/**
 * Adds a log for the test.
 * @returns a function that posts to it
 */
async function addLog(
  context: BrowserContext,
  log: string,
): Promise<(events: readonly NewEvent[]) => Promise<unknown>> {
  const made = await context.request.post("/1/logs", { form: { key: log, display: log }, headers: HEADERS });
  if (!made.ok()) throw new Error(`The log ${log} was not made: ${await made.text()}`);
  const created = await call(context, "POST", `/manage/1/logs/${log}/apiKeys`, { scope: "write-only" });
  const { key } = (await created.json()) as { key: string };
  return (events) => postEvents(pages.service(), { log, key }, events);
}

async function unseen(context: BrowserContext, cls: string): Promise<number> {
  const response = await context.request.get(`/1/logs/alerts?state=unseen&class=${cls}&pagesize=1`, {
    headers: HEADERS,
  });
  return Number(response.headers()["x-total-count"]);
}

const rows = (page: Page) => page.locator("#list .row[data-id]");
const isFocused = (page: Page, index: number) =>
  rows(page)
    .nth(index)
    .evaluate((row) => row === document.activeElement);

async function openInbox(t: ExecutionContext, cls: string, count: number) {
  const opened = await pages.open(t, { address: "#/you" });
  await alarm(opened.context, cls, count);
  await opened.page.goto(`/#/inbox?class=${cls}`);
  await opened.page.reload();
  await rows(opened.page)
    .nth(count - 1)
    .waitFor();
  return opened;
}

test("alerts are acknowledged one by one with the keyboard alone, and this can be undone", async (t) => {
  const { page, context } = await openInbox(t, "keyed", 3);
  const count = await rows(page).count();
  await assertAccessible(t, page, "an inbox with alerts");
  await page.keyboard.press("j");
  await until(() => isFocused(page, 0), { what: "the first row to have the focus" });
  const text = await rows(page).nth(1).locator(".x").textContent();
  await page.keyboard.press("Enter");
  await page.locator(".list .open .pairs").first().waitFor();
  await assertAccessible(t, page, "an alert that is open");
  await page.keyboard.press("Enter");
  await page.keyboard.press("e");
  await page.getByText("1 alert acknowledged").waitFor();
  await until(async () => (await rows(page).count()) === count - 1, { what: "the row to leave" });
  await until(() => isFocused(page, 0), { what: "the next row to have the focus" });
  t.is(await rows(page).nth(0).locator(".x").textContent(), text);
  t.is(await unseen(context, "keyed"), count - 1);
  await page.keyboard.press("z");
  await until(async () => (await rows(page).count()) === count, { what: "the row to come back" });
  t.is(await unseen(context, "keyed"), count);
});

test("the first alert is selected from the start, marked as seen, and acknowledged by one key", async (t) => {
  const { page, context } = await openInbox(t, "first-key", 3);
  const selected = page.locator("#list .row[aria-selected=true]");
  await selected.waitFor();
  const text = (await rows(page).first().locator(".x").textContent()) ?? "";
  t.is(await selected.locator(".x").textContent(), text);
  const washOf = (index: number) =>
    rows(page)
      .nth(index)
      .evaluate((row) => getComputedStyle(row).backgroundColor);
  t.not(await washOf(0), await washOf(1));
  await assertAccessible(t, page, "an inbox whose first alert is selected");
  const next = (await rows(page).nth(1).locator(".x").textContent()) ?? "";
  await page.keyboard.press("e");
  const toast = page.locator(".toast");
  await toast.getByText("1 alert acknowledged").waitFor();
  t.regex((await toast.locator(".left").textContent()) ?? "", /^\d+ s$/);
  await until(async () => (await selected.locator(".x").textContent()) === next, { what: "the next one" });
  t.is(await unseen(context, "first-key"), 2);
  await page.keyboard.press("z");
  await until(async () => (await unseen(context, "first-key")) === 3, { what: "the alert to be back" });
});

test("all shown alerts are acknowledged at once, and another tab follows within 3 s", async (t) => {
  const { page, context } = await openInbox(t, "everything", 2);
  const other = await context.newPage();
  await other.clock.install();
  await other.goto("/#/inbox?class=everything");
  await rows(other).first().waitFor();
  await stopClock(other);
  await page.bringToFront();
  await page.getByRole("button", { name: /Acknowledge all/ }).dispatchEvent("click");
  const isEmpty = () => other.getByText("Nothing is left of that log or class").isVisible();
  t.true(await within(other, 3_000, isEmpty), "the other tab still shows alerts");
  t.is(await unseen(context, "everything"), 0);
  // The clock is still stopped: the button to undo leaves after 10 s.
  await page.getByRole("button", { name: "Undo" }).dispatchEvent("click");
  t.true(await within(other, 3_000, () => rows(other).first().isVisible()), "they are not back in the other tab");
  t.true((await unseen(context, "everything")) >= 2);
  await context.clock.resume();
  await page.getByRole("button", { name: /Acknowledge all/ }).click();
  await page.getByText("Nothing is left of that log or class").waitFor();
  await assertAccessible(t, page, "an inbox of which nothing is left");
});

test("the number of unread alerts is in the title and at the inbox's entry", async (t) => {
  const { page } = await openInbox(t, "counted", 1);
  // Both are read at once, because the other tests change the number.
  const isInBoth = () =>
    page.evaluate(() => {
      const inTitle = /^\((\d+)\) Inbox, Loggia$/.exec(document.title)?.[1];
      return inTitle !== undefined && document.querySelector(".nav .badge")?.textContent === inTitle;
    });
  await until(isInBoth, { what: "the same number in the title and at the entry" });
  t.true(await page.getByRole("link", { name: /Inbox/ }).locator(".badge").isVisible());
  await pressInTurn(page, "g", "s");
  await until(async () => /^\(\d+\) .*, Loggia$/.test(await page.title()), {
    what: "the number in the search's title",
  });
});

test("bookmarks of all logs are listed, removed and restored, and n steps through them", async (t) => {
  const [older, newer] = await pages.post([
    { text: "the older of two to keep", created: Date.now() - 60_000 },
    { text: "the newer of two to keep", created: Date.now() - 30_000 },
  ]);
  const { page, context } = await pages.open(t, { address: "#/bookmarks" });
  await page.getByRole("heading", { name: "No bookmarks" }).waitFor();
  await assertAccessible(t, page, "no bookmarks");
  for (const id of [older, newer]) {
    const form = { id: id! };
    const response = await context.request.post(`/1/logs/${LOG}/bookmarks`, { form, headers: HEADERS });
    t.true(response.ok());
  }
  await page.reload();
  await page.getByRole("heading", { name: "2 bookmarks" }).waitFor();
  await assertAccessible(t, page, "two bookmarks");
  await page.keyboard.press("j");
  await page.keyboard.press("b");
  await page.getByRole("heading", { name: "1 bookmark" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByRole("heading", { name: "2 bookmarks" }).waitFor();
  await page.goto(`/#/${LOG}?q=${encodeURIComponent("GET events WHERE text CONTAINS 'of two to keep'")}`);
  await page.getByText("the newer of two to keep").waitFor();
  await page.keyboard.press("n");
  await page.waitForURL(`**around=${newer}`);
  await page.locator(`[data-id="${newer}"]`).waitFor();
  await page.keyboard.press("n");
  await page.waitForURL(`**around=${older}`);
  await page.locator(`[data-id="${older}"]`).waitFor();
  await page.keyboard.press("Shift+n");
  await page.waitForURL(`**around=${newer}`);
  await page.locator(`[data-id="${newer}"]`).waitFor();
  const read = Promise.withResolvers<void>();
  await page.route(`**/${older}/context?**`, async (route) => {
    await read.promise;
    await route.continue();
  });
  await page.keyboard.press("n");
  await page.waitForURL(`**around=${older}`);
  await page.keyboard.press("Shift+n");
  await page.waitForURL(`**around=${newer}`);
  read.resolve();
});

test("at 360 px an inbox is usable and needs no horizontal scrolling", async (t) => {
  const { page } = await openInbox(t, "small", 1);
  await page.setViewportSize({ width: 360, height: 780 });
  t.is(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await assertAccessible(t, page, "an inbox on a small screen");
  await rows(page).first().getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("1 alert acknowledged").waitFor();
});

test("alerts acknowledged in another browser leave the list within 3 s", async (t) => {
  const { context } = await openInbox(t, "elsewhere", 2);
  const page = await context.newPage();
  await page.clock.install();
  await page.goto("/#/inbox?class=elsewhere");
  await rows(page).nth(1).waitFor();
  await stopClock(page);
  const count = await rows(page).count();
  const ids = await rows(page).evaluateAll((all) => all.map((row) => row.getAttribute("data-id")));
  await call(context, "PUT", `/1/logs/${LOG}/alerts/${ids[1]}`, { seen: true });
  t.true(await within(page, 3_000, async () => (await rows(page).count()) === count - 1), "the row stays");
  t.is(await page.locator(`#list [data-id="${ids[1]}"]`).count(), 0);
  t.is(await page.locator(`#list [data-id="${ids[0]}"]`).count(), 1);
});

test("a new alert enters the list, and the focused row keeps its place", async (t) => {
  const { page, context } = await openInbox(t, "arriving", 60);
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await until(() => isFocused(page, 1), { what: "the second row to have the focus" });
  const count = await rows(page).count();
  const top = () => page.evaluate(() => document.activeElement!.getBoundingClientRect().top);
  const [before, unread] = [await top(), await unseen(context, "arriving")];
  await pages.post([alarmOf("arriving", 61)]);
  await until(async () => (await unseen(context, "arriving")) > unread, { what: "the new alert" });
  await until(async () => (await rows(page).count()) === count + 1, { what: "its row" });
  t.true(await isFocused(page, 2));
  t.true(Math.abs((await top()) - before) <= 1);
});

test("alerts of two logs are in one list, which the address narrows to one of them", async (t) => {
  const { page, context } = await openInbox(t, "shared", 1);
  const post = await addLog(context, "depot");
  await alarm(context, "shared", 2, { log: "depot", post });
  const logs = () => rows(page).locator(".l").allTextContents();
  await until(async () => new Set(await logs()).size === 2, { what: "the alerts of both logs" });
  const narrow = page.getByRole("complementary", { name: "Narrow the list" });
  await narrow.getByRole("button", { name: /^depot/ }).click();
  await page.waitForURL(/log=depot/);
  await until(async () => new Set(await logs()).size === 1, { what: "the alerts of one log" });
  await page.reload();
  await rows(page).first().waitFor();
  t.deepEqual([...new Set(await logs())], ["depot"]);
  await page.keyboard.press("Shift+E");
  await page.getByText("Nothing is left of that log or class").waitFor();
  await page.keyboard.press("z");
  await until(async () => (await logs()).includes("depot"), { what: "the alerts that were taken back" });
  await page.keyboard.press("Shift+E");
  await page.getByText("Nothing is left of that log or class").waitFor();
  await page.getByRole("link", { name: "Show all" }).click();
  await page.waitForURL((url) => !url.hash.includes("log="));
  await until(async () => (await logs()).includes(LOG), { what: "the alerts of the other log" });
  t.false((await logs()).includes("depot"));
});

test.serial("counts beside a partly loaded inbox are those of all alerts", async (t) => {
  const { page, context } = await pages.open(t, { address: "#/you" });
  await alarm(context, "beyond-500", 620);
  const count = (await unseen(context, "beyond-500")).toLocaleString("en-US");
  await page.goto("/#/inbox");
  await page.getByText("The newest 500 of").waitFor();
  const narrow = page.getByRole("complementary", { name: "Narrow the list" });
  const value = narrow.getByRole("button", { name: /Class beyond-500/ });
  await until(async () => (await value.locator(".c").textContent()) === count, { what: `${count} beside the class` });
  await value.click();
  await page.getByRole("heading", { level: 1, name: `${count} unread alerts` }).waitFor();
  t.pass();
  // Other tests of this file expect few alerts.
  await call(context, "DELETE", "/1/logs/alerts");
});
