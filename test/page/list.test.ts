import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { pressInTurn } from "./support/clock.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const listOf = (source: string) => `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}`;
const numbered = (source: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ text: `number ${i + 1}`, source }));
const slotOf = (page: Page, text: string) =>
  page.locator("#list .slot", { has: page.getByText(text, { exact: true }) });

test("a click that ends a selection does not open or close its event, a plain one does", async (t) => {
  await pages.post(numbered("clicks", 3));
  const { page } = await pages.open(t, { address: listOf("clicks") });
  const slot = slotOf(page, "number 2").first();
  const row = slot.locator("> [aria-rowindex]");
  await row.locator(".x").click();
  await slot.locator(".open").waitFor();
  await row.locator(".x").evaluate((cell) => getSelection()!.selectAllChildren(cell));
  await row.locator(".x").click();
  t.is(await row.getAttribute("aria-expanded"), "true");
  t.is(await page.evaluate(() => String(getSelection())), "");
  await row.locator(".x").click();
  await slot.locator(".open").waitFor({ state: "detached" });
});

test("keys move in the list, open, close, bookmark and copy the focused event", async (t) => {
  await pages.post(numbered("keys", 5));
  const { page, context } = await pages.open(t, { address: listOf("keys") });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await slotOf(page, "number 5").waitFor();
  await page.getByRole("heading", { level: 1 }).click();
  const focused = page.locator("#list [aria-rowindex]:focus");
  await page.keyboard.press("j");
  await page.keyboard.press("End");
  await focused.getByText("number 1", { exact: true }).waitFor();
  await page.keyboard.press("Home");
  await focused.getByText("number 5", { exact: true }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("k");
  await focused.getByText("number 4", { exact: true }).waitFor();
  await page.keyboard.press("ArrowRight");
  const slot = slotOf(page, "number 4").first();
  await slot.locator(".open").waitFor();
  await page.keyboard.press("ArrowLeft");
  await slot.locator(".open").waitFor({ state: "detached" });
  await page.keyboard.press("b");
  await slot.locator(".flagged").waitFor();
  await pressInTurn(page, "y", "t");
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("number 4"));
  await assertAccessible(t, page, "a list with a row in focus");
});

test("a step back returns to the same pixel, and the address shows the same event to another reader", async (t) => {
  await pages.post(numbered("places", 200));
  const { page } = await pages.open(t, { address: listOf("places") });
  await slotOf(page, "number 200").waitFor();
  await page.locator("#list").evaluate((list) => (list.scrollTop = 2_300));
  const slot = slotOf(page, "number 105").first();
  await slot.locator("[aria-rowindex]").click();
  await slot.locator(".open").waitFor();
  const settled = await settledTop(page, "number 105");
  const address = new URL(page.url()).hash;
  await page.evaluate((key) => (location.hash = `#/${key}/classes`), LOG);
  await page.locator("#list").waitFor({ state: "detached" });
  // The place is near the end of the first page, and the second one is slow.
  await page.route(/\/query\?.*TAKE(?:\+|%20)500/, async (route) => {
    await sleep(1_000);
    await route.continue();
  });
  await page.goBack();
  await slot.locator(".open").waitFor();
  const returned = await settledTop(page, "number 105");
  t.true(Math.abs(returned - settled) <= 1, `${returned} px rather than ${settled} px`);
  await page.goForward();
  await page.locator("#list").waitFor({ state: "detached" });
  const { page: fresh } = await pages.open(t, { address });
  await slotOf(fresh, "number 105").first().locator(".open").waitFor();
});

/** The ways back from the events around one. */
const backWays: readonly [string, (page: Page) => Promise<unknown>][] = [
  ["Escape", (page) => page.keyboard.press("Escape")],
  ["its button", (page) => page.getByRole("button", { name: /^Back to/ }).click()],
  ["a step back", (page) => page.goBack()],
];

test("returning from the events around one shows the list at the same pixel", async (t) => {
  await pages.post(numbered("around", 200));
  const { page } = await pages.open(t, { address: listOf("around") });
  await slotOf(page, "number 200").waitFor();
  await page.locator("#list").hover();
  await page.mouse.wheel(0, 1_500);
  const slot = slotOf(page, "number 130").first();
  await slot.locator("[aria-rowindex]").click();
  await slot.locator(".open").waitFor();
  const settled = await settledTop(page, "number 130");
  for (const [way, leave] of backWays) {
    await slot.locator("> [aria-rowindex]").focus();
    await page.keyboard.press("c");
    await page.getByRole("treegrid", { name: /^Events around/ }).waitFor();
    await leave(page);
    await page.getByRole("heading", { level: 1, name: "200 events", exact: true }).waitFor();
    // By now a list that had been requested again would be redrawn.
    await sleep(1_000);
    await slot.locator(".open").waitFor();
    const returned = await settledTop(page, "number 130");
    t.true(Math.abs(returned - settled) <= 1, `by ${way}: ${returned} px rather than ${settled} px`);
  }
});

test("a step back between two queries returns to the same pixel", async (t) => {
  await pages.post(numbered("before-step", 200));
  await pages.post(numbered("after-step", 3));
  const { page } = await pages.open(t, { address: listOf("before-step") });
  await slotOf(page, "number 200").waitFor();
  await page.locator("#list").hover();
  await page.mouse.wheel(0, 1_500);
  await slotOf(page, "number 130").first().waitFor();
  const settled = await settledTop(page, "number 130");
  const field = page.getByRole("textbox", { name: /Query/ });
  await field.fill("GET events WHERE source = 'after-step'");
  await field.press("Enter");
  await page.getByRole("heading", { level: 1, name: /^3 events/ }).waitFor();
  await slotOf(page, "number 130").first().waitFor({ state: "detached" });
  await page.goBack();
  await slotOf(page, "number 130").first().waitFor();
  const returned = await settledTop(page, "number 130");
  t.true(Math.abs(returned - settled) <= 1, `${returned} px rather than ${settled} px`);
});

test("a right click on a value, or the menu key on a row, narrows the query", async (t) => {
  const query = "GET events WHERE source CONTAINS 'menu-'";
  await pages.post([
    { text: "in the first", source: "menu-1", tags: ["red", "blue"] },
    { text: "in the second", source: "menu-2", tags: ["red"] },
  ]);
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent(query)}` });
  const row = slotOf(page, "in the first").locator("> [aria-rowindex]");
  await row.getByText("menu-1").click({ button: "right" });
  const menu = page.getByRole("menu", { name: "Menu of source" });
  await menu.getByRole("menuitem", { name: /^Group by source/ }).waitFor();
  await assertAccessible(t, page, "the menu of a cell");
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached" });
  t.true(await row.evaluate((element) => element === document.activeElement));
  t.is(await row.getAttribute("aria-expanded"), "false");
  await row.locator(".g").getByText("blue").click({ button: "right" });
  t.is(await page.getByRole("menuitem", { name: /red/ }).count(), 0);
  await page.getByRole("menuitem", { name: /^All but blue/ }).click();
  await slotOf(page, "in the first").waitFor({ state: "detached" });
  const field = page.getByRole("textbox", { name: /Query/ });
  t.is(await field.inputValue(), `${query} AND tags != 'blue'`);
  await page.goBack();
  await row.focus();
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menu", { name: "Menu of the event" }).waitFor();
  await page.getByRole("menuitem", { name: /^Only menu-1/ }).click();
  await slotOf(page, "in the second").waitFor({ state: "detached" });
  t.is(await field.inputValue(), `${query} AND source = 'menu-1'`);
});

for (const width of [1440, 360]) {
  test(`at ${width} px the list stays in place while its bars load`, async (t) => {
    const name = `still-${width}`;
    await pages.post(numbered(name, 3));
    const { page } = await pages.open(t, { address: "#/you", viewport: { width, height: 900 } });
    const released = Promise.withResolvers<void>();
    await page.route(/\/query\?.*GROUPBY/, async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.goto(`/${listOf(name)}`);
    await slotOf(page, "number 3").waitFor();
    const top = () => page.locator("#list").evaluate((list) => list.getBoundingClientRect().top);
    const before = await top();
    t.is(await page.locator(".plot").count(), 0);
    released.resolve();
    await page.locator(".plot .b").first().waitFor();
    t.is(await top(), before);
  });
}

/** Returns the position of a row once it has been stable for 20 frames. */
async function settledTop(page: Page, text: string): Promise<number> {
  return page.evaluate(async (words) => {
    const top = () => {
      const cells = [...document.querySelectorAll("#list [aria-rowindex] .x")];
      return cells.find(({ textContent }) => textContent === words)?.getBoundingClientRect().top ?? Number.NaN;
    };
    let last = top();
    for (let same = 0; same < 20;) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const now = top();
      same = now === last ? same + 1 : 0;
      last = now;
    }
    return last;
  }, text);
}

test("the menu of a value is complete beside an open event that has only fields", async (t) => {
  await pages.post([{ text: "fields alone", source: "whole-menu", link: "https://example.org/" }]);
  const { page } = await pages.open(t, { address: listOf("whole-menu") });
  const slot = slotOf(page, "fields alone").first();
  await slot.locator("[aria-rowindex]").click();
  await slot.locator(".facts").waitFor();
  for (const field of ["source", "link"]) {
    await slot.locator(`dt:has-text("${field}") + dd .v`).click();
    const menu = page.getByRole("menu", { name: new RegExp(` of ${field}$`) });
    await menu.waitFor();
    t.is(await menu.evaluate((element) => element.getClientRects().length), 1, `the menu of ${field} is in pieces`);
    const lefts = await menu
      .getByRole("menuitem")
      .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().left));
    t.is(new Set(lefts).size, 1, `the items of ${field} stand below each other`);
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "detached" });
  }
});

test("the text of an open event keeps its line breaks and tabs", async (t) => {
  await pages.post([{ text: "first line\n\tsecond line\nthird line", source: "lines" }]);
  const { page } = await pages.open(t, { address: listOf("lines") });
  const slot = page.locator("#list .slot").first();
  await slot.locator("[aria-rowindex]").click();
  const text = slot.locator(".open .text");
  await text.waitFor();
  // As shown, and thus as a selection is copied.
  t.is(await text.innerText(), "first line\n\tsecond line\nthird line");
});

test("a Shift-click on a value of a field excludes it, and a second one includes it again", async (t) => {
  await pages.post([
    { text: "stays", source: "kept-by-shift", tags: ["shift"] },
    { text: "goes", source: "left-by-shift", tags: ["shift"] },
  ]);
  const query = "GET events WHERE tags = 'shift'";
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent(query)}` });
  const field = page.getByRole("textbox", { name: /Query/ });
  const value = page.locator(".facet .val", { hasText: "left-by-shift" });
  await value.click({ modifiers: ["Shift"] });
  await slotOf(page, "goes").waitFor({ state: "detached" });
  t.is(await field.inputValue(), `${query} AND source != 'left-by-shift'`);
  await page.locator(".facet .val.off", { hasText: "left-by-shift" }).click({ modifiers: ["Shift"] });
  await slotOf(page, "goes").waitFor();
  t.is(await field.inputValue(), query);
});

test.serial("the columns offer the attributes of the log's events, with their counts", async (t) => {
  const source = "measured";
  await pages.post([
    ...Array.from({ length: 12 }, (_, i) => ({ text: `call ${i}`, source, attributes: { "took-in-all": i } })),
    { text: "without", source },
  ]);
  const { page } = await pages.open(t, { address: listOf(source) });
  await page.locator("#list .row .x").first().waitFor();
  await page.keyboard.press("v");
  const columns = page.getByRole("dialog", { name: "Columns" });
  await columns.getByLabel("Find a field").fill("took-in");
  const offered = columns.getByRole("checkbox", { name: /@took-in-all/ });
  await offered.waitFor();
  t.regex((await offered.textContent()) ?? "", /@took-in-all\s*12$/);
  await assertAccessible(t, page, "columns with attributes");
  await offered.click();
  await page.getByRole("columnheader", { name: "@took-in-all" }).waitFor();
  await columns.getByLabel("Find a field").fill("no-such-field");
  await columns.getByText("No field of this name in the range.").waitFor();
});

test.serial("the key for the last row says where more events follow than are loaded", async (t) => {
  await pages.post(numbered("long", 1_500));
  const { page } = await pages.open(t, { address: listOf("long") });
  await page.locator("#list .row .x").first().waitFor();
  await page.keyboard.press("j");
  await page.locator("#list .row:focus").waitFor();
  await page.keyboard.press("End");
  await page.getByText(/^Event [\d,]+ is the last one loaded; more follow as you go on\. Press o/).waitFor();
  await page.keyboard.press("o");
  await page.locator("#list").getByText("number 1", { exact: true }).waitFor();
  t.pass();
});
