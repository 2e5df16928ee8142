import test from "ava";
import type { Page } from "playwright-core";

import { ADMIN, LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";
import { catchLine } from "./support/states.ts";

const pages = sharePages();
const listOf = (source: string, more = "") =>
  `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}${more}`;
const queryOf = (page: Page) => page.getByRole("textbox", { name: /Query/ });
const titled = (page: Page, title: string) => page.locator(".msg", { has: page.getByRole("heading", { name: title }) });

// One at a time: together they would exceed an account's limit of concurrent queries.
test.serial("a log without access is named, and another one is offered", async (t) => {
  const { page, problems } = await pages.open(t, { address: "#/shopp" });
  problems.allowStatus(404);
  await page.getByRole("heading", { name: "There is no log “shopp”, or it is not shared with you" }).waitFor();
  await assertAccessible(t, page, "a log that is not there");
  await page.getByRole("link", { name: `Open ${LOG}` }).click();
  await page
    .getByRole("heading", { name: /events?$/ })
    .first()
    .waitFor();
});

test.serial("a missing event explains possible causes and links to the events around its time", async (t) => {
  const [id = ""] = await pages.post([{ text: "neighbour of what is gone", source: "gone" }]);
  const missing = `${id.slice(0, 16)}00000000`;
  const { page, problems, context, url } = await pages.open(t, { address: `#/${LOG}?around=${missing}` });
  problems.allowStatus(404);
  const gone = titled(page, "This event is gone");
  await gone.getByText("Someone with the role admin deleted it.").waitFor();
  await assertAccessible(t, page, "neighbours of an event that is gone");
  await context.request.patch(`${url}/manage/1/logs/${LOG}`, {
    data: { retentionDays: 90 },
    headers: { "X-Loggia": "1" },
  });
  await page.goto(`/${listOf("gone", `&open=${missing}`)}`);
  await page.reload();
  await gone.getByText("Someone with the role admin deleted it, or its retention of 90 days ended.").waitFor();
  t.true(await page.locator("#list").getByText("neighbour of what is gone").isVisible());
  await assertAccessible(t, page, "a link to an event that is gone");
  await gone.getByRole("button", { name: /^Events around \d\d:\d\d:\d\d$/ }).click();
  await gone.waitFor({ state: "detached" });
  await page.locator("#list").getByText("neighbour of what is gone").waitFor();
});

test.serial("an event that the query excludes is reported as existing and can be shown", async (t) => {
  const [id = ""] = await pages.post([
    { text: "left out", source: "other" },
    { text: "taken in", source: "inside" },
  ]);
  const { page } = await pages.open(t, { address: listOf("inside", `&open=${id}`) });
  const message = titled(page, "The event of the link is not in this list");
  await message.waitFor();
  await assertAccessible(t, page, "a link to an event that the query leaves out");
  await message.getByRole("button", { name: "Show it among its neighbours" }).click();
  await page.locator("#list").getByText("left out").waitFor();
});

test.serial("a screen that cannot be loaded is reported, and opens by itself later", async (t) => {
  const { page, problems } = await pages.open(t);
  await page.getByRole("link", { name: "Search" }).waitFor();
  problems.allowStatus(503);
  for (const path of ["/1/session", "/1/logs"]) {
    await page.route(`**${path}`, (route) => route.fulfill({ status: 503, body: "busy" }));
    await page.reload();
    const message = page.locator(".msg", { hasText: "The page could not be opened" });
    await message.waitFor();
    await catchLine(page, /Trying again in [24] s\./);
    await assertAccessible(t, page, `a page without ${path}`);
    await page.unroute(`**${path}`);
    await page.getByRole("link", { name: "Search" }).waitFor();
  }
});

test.serial("failures beside the list are shown where the reader acted", async (t) => {
  await pages.post([{ text: "acted on", source: "acts" }]);
  const { page, context, problems } = await pages.open(t, { address: listOf("acts") });
  await page.locator("#list").getByText("acted on").click();
  const alike = page.getByRole("button", { name: /like this/ });
  await alike.waitFor();
  problems.allowNoAnswer();
  await context.route("**/*", (route) => route.abort());
  const toast = page.locator(".toast");
  const says = async (words: RegExp, act: () => Promise<void>) => {
    await act();
    await toast.getByText(words).waitFor();
  };
  await says(/^The link was not copied: reload the page, its code could not be loaded/, async () => {
    await page.locator(".found").getByRole("button", { name: "Copy link" }).click();
  });
  await says(/^Simple mode is not there: /, async () => page.getByRole("button", { name: "Simple" }).click());
  await says(/^You are still signed in: The service did not answer/, async () => {
    await page.getByRole("button", { name: /account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
  });
  await assertAccessible(t, page, "a toast about a failure");
  await context.unroute("**/*");
  await page.getByRole("button", { name: /account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Loggia" }).waitFor();
});

test.serial("an expired session is reported once, and the query continues after the sign-in", async (t) => {
  await pages.post([{ text: "goes on", source: "again" }]);
  const { page, context } = await pages.open(t, { address: listOf("acts") });
  await page.locator("#found").waitFor();
  await queryOf(page).fill("GET events WHERE source = 'again'");
  await context.clearCookies();
  await page.getByRole("button", { name: "Run" }).dispatchEvent("click");
  const dialog = page.getByRole("dialog", { name: "Your session ended" });
  await dialog.waitFor();
  // The focus moves in the frame after.
  await page.waitForFunction(() => document.activeElement?.id === "password");
  // It stays until a sign-in; a button that closes it would do nothing.
  t.is(await dialog.getByRole("button", { name: "Close" }).count(), 0);
  await page.keyboard.type(ADMIN.password);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.locator("#list").getByText("goes on").waitFor();
  t.is(await titled(page, "Your session ended").count(), 0);
});

test.serial("a part of the page that failed to load is loaded on demand", async (t) => {
  const { page, problems } = await pages.open(t);
  await page.locator("#found").waitFor();
  problems.allowNoAnswer();
  await page.route("**/assets/**", (route) => route.abort());
  await page.getByRole("link", { name: "Inbox" }).click();
  const message = titled(page, "A part of the page could not be loaded");
  await message.waitFor();
  await assertAccessible(t, page, "a screen whose code could not be loaded");
  await page.unroute("**/assets/**");
  await message.getByRole("button", { name: "Try again" }).click();
  await page
    .getByRole("heading", { name: /unread|Inbox/i })
    .first()
    .waitFor();
});

test.serial("an unhandled rejection is shown, and logged to the console", async (t) => {
  const { page } = await pages.open(t);
  await page.locator("#found").waitFor();
  const isHandled = page.evaluate(async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    addEventListener("unhandledrejection", (event) => {
      resolve(event.defaultPrevented);
      // This one is not a failure of the page.
      event.preventDefault();
    });
    void Promise.reject(new Error("planted"));
    return promise;
  });
  t.false(await isHandled);
  await page.locator(".toast", { hasText: "Something failed: planted" }).waitFor();
});

test.serial("a heading says that a query has a fault, and which query the list below shows", async (t) => {
  await pages.post([{ text: "found first", source: "headed" }]);
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true });
  const { page, problems } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent("GET events WHERE")}` });
  await page.locator(".msg").waitFor();
  await heading(page, "No result").waitFor();
  t.is(await page.title(), `No result, ${LOG}, Loggia`);
  await queryOf(page).fill("GET events WHERE source = 'headed'");
  await queryOf(page).press("Enter");
  await heading(page, "1 event").waitFor();
  await page.locator("#list").getByText("found first").waitFor();
  await page.goto(`/#/${LOG}?q=${encodeURIComponent("GET events WHERE source =")}`);
  await page.locator(".msg").waitFor();
  await page.locator(".found .note", { hasText: /, as the last query found them$/ }).waitFor();
  t.is(await page.locator("#found").textContent(), "1 event");
  t.true(await page.locator("#list").getByText("found first").isVisible());
  await assertAccessible(t, page, "the last list below a fault");
  problems.allowStatus(503);
  await page.route(/\/query\?.*COLUMNS(?:\(|%28)COUNT/, (route) => route.fulfill({ status: 503, body: "busy" }));
  await queryOf(page).fill("GET events WHERE text = 'found first'");
  await page.getByRole("button", { name: "Run" }).click();
  await heading(page, "Not counted").waitFor();
});

test.serial("a fault is shown without the count of an earlier query that ended before its rows", async (t) => {
  await pages.post([{ text: "counted, never listed", source: "overtaken" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent("GET events WHERE")}` });
  await page.locator(".msg").waitFor();
  // Pages of the list are not answered; the count is.
  await page.route(/\/query\?.*SORT(?:\+|%20)created/, () => undefined);
  await queryOf(page).fill("GET events WHERE source = 'overtaken'");
  await queryOf(page).press("Enter");
  await page.getByRole("heading", { level: 1, name: "1 event", exact: true }).waitFor();
  await page.goto(`/#/${LOG}?q=${encodeURIComponent("GET events WHERE source =")}`);
  await page.getByRole("heading", { level: 1, name: "No result", exact: true }).waitFor();
  t.is(await page.locator("#list .row:not(.head)").count(), 0);
  t.is(await page.locator(".found .note", { hasText: "as the last query found them" }).count(), 0);
});
