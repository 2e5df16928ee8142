import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";

const pages = sharePages();
const SOURCE = "around";
const ROWS = 120;
const addressOf = `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${SOURCE}'`)}`;

let posting: Promise<unknown> | null = null;
const postRows = () => {
  const now = Date.now();
  return (posting ??= pages.post(
    Array.from({ length: ROWS }, (_, i) => [
      { text: `row ${i}`, source: SOURCE, created: now - (ROWS - i) * 10_000 },
      { text: `beside ${i}`, source: "elsewhere", created: now - (ROWS - i) * 10_000 + 1 },
    ]).flat(),
  ));
};
test.beforeEach(postRows);

/** Returns the id of the event whose row has the focus. */
const focusedId = (page: Page) =>
  page.evaluate(() => {
    const row = document.activeElement?.matches("#list .row") === true ? document.activeElement : null;
    return row?.closest<HTMLElement>(".slot")?.dataset["id"] ?? null;
  });
const topOf = (page: Page, id: string) =>
  page.locator(`#list .slot[data-id="${id}"] > .row`).evaluate((row) => row.getBoundingClientRect().top);

test.serial("the focus moves to the event among its neighbours, at the same pixel, and back to its row", async (t) => {
  const { page } = await pages.open(t, { address: addressOf });
  const { keyboard } = page;
  await page.locator("#list .row .x").first().waitFor();
  await page.locator("#list .row", { hasText: /row 90\b/ }).scrollIntoViewIfNeeded();
  await page.locator("#list .row", { hasText: /row 100\b/ }).focus();
  await keyboard.press("j");
  await until(async () => (await focusedId(page)) !== null, { what: "the focus on a row" });
  const id = (await focusedId(page))!;
  const top = await topOf(page, id);
  await keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: /^Around \d/ }).waitFor();
  await until(async () => (await focusedId(page)) === id, { what: "the focus on the event among its neighbours" });
  const current = page.locator("#list [aria-current=true]");
  t.is(await current.count(), 1);
  t.true(await current.evaluate((row) => row === document.activeElement));
  t.true(Math.abs((await topOf(page, id)) - top) <= 1, "the event moved");
  await keyboard.press("Escape");
  await page.getByRole("heading", { level: 1, name: `${ROWS} events` }).waitFor();
  await until(async () => (await focusedId(page)) === id, { what: "the focus on the row that was left" });
  t.true(Math.abs((await topOf(page, id)) - top) <= 1, "the row moved");
  await keyboard.press("j");
  const next = page.locator("#list .row:focus");
  t.regex((await next.textContent()) ?? "", /row 98\b/);
});

test.serial("Escape leaves the neighbours from any focus and cancels nothing", async (t) => {
  const { page } = await pages.open(t, { address: addressOf });
  const { keyboard } = page;
  await page.locator(".plot .b").first().waitFor();
  await page.locator("#list .row .x").first().waitFor();
  await page.getByRole("button", { name: "Run" }).click();
  await quiet(page);
  // The button keeps the focus, while the keys act on the current row.
  await keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: /^Around \d/ }).waitFor();
  await page.getByRole("button", { name: "Run" }).focus();
  await keyboard.press("Escape");
  await page.getByRole("heading", { level: 1, name: `${ROWS} events` }).waitFor();
  await page.locator(".plot .b").first().waitFor();
  await page.locator("aside.side .valrow").first().waitFor();
  t.pass();
});

test.serial("Escape leads from a query that has run to the list, from a changed one at the second press", async (t) => {
  const { page } = await pages.open(t, { address: addressOf });
  const { keyboard } = page;
  await page.locator("#list .row .x").first().waitFor();
  await page.locator(".plot .b").first().waitFor();
  await page.locator("aside.side .valrow").first().waitFor();
  // While the query is being read, Escape would cancel it.
  await quiet(page);
  await keyboard.press("/");
  await page.locator("textarea.lql:focus").waitFor();
  await keyboard.press("Escape");
  await until(async () => (await focusedId(page)) !== null, { what: "the focus on a row" });
  await page.getByRole("heading", { level: 1, name: `${ROWS} events` }).waitFor();
  await keyboard.press("/");
  await keyboard.press("End");
  await keyboard.type(" AND text CONTAINS 'row'");
  await page.locator("ul[role=listbox][aria-label=Completions]").waitFor({ state: "detached" });
  await keyboard.press("Escape");
  t.is(await focusedId(page), null);
  await keyboard.press("Escape");
  await until(async () => (await focusedId(page)) !== null, { what: "the focus on a row" });
});
