import test from "ava";
import type { Request } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";

const pages = sharePages();

test("Live is turned on and off by its button and its key, and shows new events", async (t) => {
  await pages.post([{ text: "there before the tail", source: "live" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}?q=GET+events+WHERE+source+%3D+'live'` });
  await page.getByText("there before the tail").waitFor();
  const live = page.getByRole("button", { name: "Live", exact: true });
  await live.click();
  await page.getByText("New events appear as they are stored.").waitFor();
  t.is(await live.getAttribute("aria-pressed"), "true");
  await pages.post([{ text: "arrived meanwhile", source: "live" }]);
  await page.locator("#list").getByText("arrived meanwhile").waitFor();
  await assertAccessible(t, page, "a tail");
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("l");
  await page.getByText("New events appear as they are stored.").waitFor({ state: "detached" });
  t.is(await live.getAttribute("aria-pressed"), "false");
  await page.locator("#list").getByText("arrived meanwhile").waitFor();
});

test("a long query can be cancelled, which aborts its request", async (t) => {
  // The page leaves the search of a log without events.
  await pages.post([{ text: "there before the long query" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  await page.getByRole("heading", { level: 1, name: /events?$/ }).waitFor();
  // The service would respond too soon, so its response is delayed.
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/\/query\?.*slowly/, async (route) => {
    await held;
    await route.abort();
  });
  const aborted = page.waitForEvent("requestfailed", (request) => request.url().includes("slowly"));
  const query = page.getByRole("textbox", { name: /Query/ });
  await query.fill("GET events WHERE text CONTAINS 'slowly'");
  await query.press("Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { level: 1, name: "Cancelled" }).waitFor();
  t.regex((await aborted).failure()?.errorText ?? "", /ABORTED/);
  await page.getByRole("button", { name: "Run" }).waitFor();
  t.is(await query.inputValue(), "GET events WHERE text CONTAINS 'slowly'");
  release();
  await assertAccessible(t, page, "a query that was cancelled");
});

test("an empty list asks nothing about the next query while that is under way", async (t) => {
  await pages.post([{ text: "found by no query", source: "asked-early" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}?q=GET+events+WHERE+source+%3D+'nothing-yet'` });
  await page.getByRole("heading", { name: "No events match" }).waitFor();
  await quiet(page);
  const asked: Request[] = [];
  page.on("request", (request) => {
    if (request.url().includes("under-way")) asked.push(request);
  });
  await page.route(/\/query\?.*under-way/, () => {});
  const query = page.getByRole("textbox", { name: /Query/ });
  await query.fill("GET events WHERE source = 'under-way'");
  await query.press("Enter");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { level: 1, name: "Cancelled" }).waitFor();
  t.true(asked.length > 0);
  await until(() => asked.every((request) => request.failure() !== null), {
    what: "the end of all requests of the cancelled query",
    timeout_ms: 10_000,
  });
});

test("without room beside the list, the fields cover it until they are closed", async (t) => {
  await pages.post([{ text: "on a tablet", source: "tablet-shop" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}`, viewport: { width: 800, height: 700 } });
  const fields = page.getByRole("complementary", { name: "Fields" });
  t.false(await fields.isVisible());
  await page.getByRole("button", { name: "Fields" }).click();
  await fields
    .getByRole("button", { name: /tablet-shop/ })
    .first()
    .click();
  await page.waitForURL(/tablet-shop/);
  await assertAccessible(t, page, "fields over the list");
  await fields.getByRole("button", { name: "Close" }).click();
  await fields.waitFor({ state: "hidden" });
});

test("Escape discards unrun text while completions are still loading", async (t) => {
  await pages.post([1, 2, 3].map((n) => ({ text: `soon ${n}`, source: "soon" })));
  const { page } = await pages.open(t, { signedIn: true });
  // Scripts requested from here on never arrive.
  await page.goto(`/#/${LOG}?q=GET+events+WHERE+source+%3D+'none'`);
  await page.getByRole("heading", { level: 1, name: "0 events" }).waitFor();
  await page.route(/\/assets\/.*\.js$/, () => {});
  await page.keyboard.press("/");
  const query = page.getByRole("textbox", { name: /Query/ });
  await query.fill("GET events WHERE source = 'soon'");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "3 events" }).waitFor();
  t.is(await query.inputValue(), "GET events WHERE source = 'soon'");
});
