import test from "ava";
import type { ExecutionContext } from "ava";
import type { BrowserContext, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";

const pages = sharePages();
const PHONE = { width: 360, height: 740 } as const;
const HOUR_MS = 3_600_000;
const HEADERS = { "X-Loggia": "1" };

async function send(context: BrowserContext, method: "POST" | "PUT", path: string, data: object): Promise<void> {
  const answer = await context.request.fetch(path, { method, data, headers: HEADERS });
  if (!answer.ok()) throw new Error(`${path} was answered ${answer.status()} ${await answer.text()}`);
}

async function assertFits(t: ExecutionContext, page: Page, what: string): Promise<void> {
  const [needed, there] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  t.is(needed, there, what);
}

const queryOf = (source: string) => `q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}`;

/**
 * Creates classes of a source, each with an event in some hours.
 * @returns the range of the events
 */
async function makeClasses(context: BrowserContext, source: string, count: number) {
  const from = Date.UTC(2026, 9, 6);
  const names = Array.from({ length: count }, (_, i) => `${source} of a longer name ${i}`);
  for (const [i, display] of names.entries()) {
    const json = { key: `${source}-${i}`, display, color: "teal", weight: i + 1, tag: `${source}-${i}` };
    await send(context, "POST", `/manage/1/logs/${LOG}/classFilters`, json);
  }
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  await pages.post(
    hours.flatMap((hour) =>
      names.map((text, i) => ({ text, source, created: from + hour * HOUR_MS + i, tags: [`${source}-${i}`] })),
    ),
  );
  return { from, to: from + 24 * HOUR_MS };
}

test.serial("at 360 px a range with two complete moments and its neighbours fit", async (t) => {
  const [from, to] = [Date.UTC(2024, 8, 23, 10, 11, 12, 345), Date.UTC(2026, 8, 24, 20, 21, 22, 678)];
  const { page } = await pages.open(t, { viewport: PHONE, address: `#/${LOG}?from=${from}&to=${to}&tz=UTC` });
  await page.getByRole("button", { name: /^Range: / }).waitFor();
  await page.getByRole("button", { name: "Live" }).waitFor();
  await assertFits(t, page, "a range of two moments");
  await page.getByRole("button", { name: /^Range: / }).click();
  await page.getByRole("dialog", { name: "Range" }).getByRole("button").first().waitFor();
  await assertFits(t, page, "the picker of ranges");
});

test.serial("at 360 px the action of a full inbox is completely visible", async (t) => {
  const { page, context } = await pages.open(t, { viewport: PHONE, address: "#/you" });
  const json = { key: "many", display: "Many", color: "teal", weight: 3, tag: "many" };
  await send(context, "POST", `/manage/1/logs/${LOG}/classFilters`, json);
  const options = { alert: true, notify: false, hide: false };
  await send(context, "PUT", `/manage/1/logs/${LOG}/classFilters/many/options`, options);
  await pages.post(Array.from({ length: 1_200 }, (_, i) => ({ text: `alert ${i}`, source: "many", tags: ["many"] })));
  await page.goto("/#/inbox");
  const act = page.getByRole("button", { name: "Acknowledge all 1,200" });
  await act.waitFor();
  const { x, width } = (await act.boundingBox())!;
  t.true(x >= 0 && x + width <= PHONE.width, `${x} to ${x + width}`);
  await assertFits(t, page, "the inbox");
});

test.serial("at 360 px Escape closes the fields at once, and the focus returns to their button", async (t) => {
  await pages.post([{ text: "of a phone", source: "phone" }]);
  const { page } = await pages.open(t, { viewport: PHONE, address: `#/${LOG}` });
  await page.locator(".side").waitFor({ state: "attached" });
  await quiet(page);
  const button = page.getByRole("button", { name: "Fields" });
  await button.click();
  await page.locator(".side.over").waitFor();
  await assertFits(t, page, "the fields");
  await page.keyboard.press("Escape");
  await page.locator(".side.over").waitFor({ state: "detached" });
  t.true(await button.evaluate((element) => element === document.activeElement));
});

test.serial("bars as a table scroll by themselves, one line each, and leave the list visible", async (t) => {
  const { page, context } = await pages.open(t, { address: "#/you" });
  const { from, to } = await makeClasses(context, "wide", 8);
  await page.goto(`/#/${LOG}?${queryOf("wide")}&from=${from}&to=${to}&tz=Europe/Berlin`);
  await page.reload();
  await page.locator(".hist").getByRole("button", { name: "Table" }).click();
  const table = page.locator(".column-table");
  // The bars may arrive after the table, and the names of the classes after them.
  await table.locator("thead th").nth(9).waitFor();
  t.is(await table.locator("thead th").count(), 10);
  await assertFits(t, page, "a table of eight classes");
  const sizes = await table.evaluate((box) => ({
    height: box.clientHeight,
    isScrolling: box.scrollHeight > box.clientHeight && box.scrollWidth > box.clientWidth,
    row: Math.max(...[...box.querySelectorAll("tr")].map(({ offsetHeight }) => offsetHeight)),
  }));
  t.true(sizes.isScrolling);
  t.true(sizes.height <= 324 && sizes.row <= 34, JSON.stringify(sizes));
  t.true((await page.locator("#list").boundingBox())!.height > 300);
});

test.serial("the tooltip of a bar hides no bar", async (t) => {
  const { page, context } = await pages.open(t, { address: "#/you" });
  const { from, to } = await makeClasses(context, "told", 3);
  await page.goto(`/#/${LOG}?${queryOf("told")}&from=${from}&to=${to}&tz=UTC`);
  const plot = (await page.locator(".hist .plot").boundingBox())!;
  for (const part of [0.1, 0.9]) {
    await page.mouse.move(plot.x + plot.width * part, plot.y + 30);
    const tip = (await page.locator(".tip").boundingBox())!;
    t.true(tip.y >= plot.y + 62.5, `at ${part}, ${tip.y} under ${plot.y}`);
    t.true(tip.x >= 0 && tip.x + tip.width <= 1440);
  }
});

test.serial("a long name of a measure stays above the bars and beside the axis", async (t) => {
  const created = Date.UTC(2026, 9, 8, 12);
  await pages.post(
    Array.from({ length: 30 }, (_, i) => ({
      text: "measured",
      source: "measured",
      created: created + i * 60_000,
      attributes: { took: 1_000 + i },
    })),
  );
  const range = `from=${created - HOUR_MS}&to=${created + HOUR_MS}&tz=UTC`;
  const { page } = await pages.open(t, { address: `#/${LOG}?${queryOf("measured")}&${range}&by=avg(@took)` });
  const button = page.getByRole("button", { name: "Measure: Average of @took" });
  await button.waitFor();
  await page.locator(".plot .yl").first().waitFor();
  const of = async (selector: string) => (await page.locator(selector).first().boundingBox())!;
  const [name, step, number] = [(await button.boundingBox())!, await of(".tools > span:not(.anchor)"), await of(".yl")];
  t.true(name.y + name.height <= step.y, "the name ends above the width of the bars");
  t.true(name.x + name.width <= number.x, "the name ends before the number of the axis");
  t.true(await button.evaluate((element) => element.scrollHeight <= element.clientHeight), "the name is whole");
  await button.click();
  const items = page.getByRole("menuitemradio");
  await items.filter({ hasText: "Maximum of @took" }).waitFor();
  await items.filter({ hasText: "Minimum of @took" }).waitFor();
  const lefts = await items.evaluateAll((all) => all.map((item) => getComputedStyle(item).paddingLeft));
  t.deepEqual([...new Set(lefts)], ["8px"]);
});

test.serial("a menu of a button at the right edge has the border of every popover", async (t) => {
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  for (const name of [/^Save$/, /^Export$/, /account/]) {
    await page.getByRole("button", { name }).click();
    const style = await page.locator(".pop.under").evaluate((pop) => {
      const { padding, fontSize, color } = getComputedStyle(pop);
      return { padding, fontSize, isInk: color === getComputedStyle(document.body).color };
    });
    t.deepEqual(style, { padding: "4px", fontSize: "13px", isInk: true }, String(name));
    await page.keyboard.press("Escape");
  }
});

test.serial("the fields release the space of removed values when the pointer leaves them", async (t) => {
  await pages.post(
    Array.from({ length: 12 }, (_, i) => ({ text: `of room ${i}`, source: `room-${i % 4}`, tags: ["room", `r${i}`] })),
  );
  const { page } = await pages.open(t, {
    address: `#/${LOG}?q=${encodeURIComponent("GET events WHERE tag = 'room'")}`,
  });
  const tags = page.locator(".facet", { has: page.locator("h3", { hasText: "tag" }) });
  const rest = () =>
    tags.evaluate(
      (facet) => facet.getBoundingClientRect().bottom - facet.lastElementChild!.getBoundingClientRect().bottom,
    );
  await tags.locator(".val").first().waitFor();
  const before = await rest();
  const source = page.locator(".facet", { has: page.locator("h3", { hasText: "source" }) });
  await source.locator(".val", { hasText: "room-0" }).click();
  await until(async () => (await tags.locator(".more-vals").count()) === 0, { what: "the values of a narrower query" });
  t.true((await rest()) > before + 10, "the room is kept under the pointer");
  await page.locator("#found").hover();
  await until(async () => Math.abs((await rest()) - before) < 1, { what: "the room to be given up" });
});

test.serial("the values of the service's health are in one column", async (t) => {
  const { page, problems } = await pages.open(t, { address: "#/service/health" });
  problems.allowNotReady();
  await page.getByRole("row", { name: /^dead letters/ }).waitFor();
  await page.getByRole("row", { name: /^store/ }).waitFor();
  const lefts = await page
    .locator(".pane .table tr > td:nth-child(2)")
    .evaluateAll((cells) => cells.map((cell) => Math.round(cell.getBoundingClientRect().left)));
  t.true(lefts.length > 3);
  t.is(new Set(lefts).size, 1, lefts.join());
});

test.serial("the search field of the columns is styled on a first visit", async (t) => {
  await pages.post([{ text: "of columns", source: "columns" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  await page.locator("#list .row").first().waitFor();
  await page.keyboard.press("v");
  const field = page.getByRole("dialog", { name: "Columns" }).getByRole("searchbox", { name: "Find a field" });
  await field.waitFor();
  const style = await field.evaluate((input) => {
    const { height, outlineStyle } = getComputedStyle(input);
    return { height, outlineStyle };
  });
  t.deepEqual(style, { height: "34px", outlineStyle: "none" });
});

test.serial("saved queries are opened beside the field for queries", async (t) => {
  const query = "GET events WHERE source = 'opened-again'";
  const { page, context } = await pages.open(t, { viewport: PHONE, address: "#/you" });
  await pages.post([{ text: "found again", source: "opened-again" }]);
  const saved = { name: "Opened again", query, tz: "UTC", shared: false };
  await send(context, "POST", `/manage/1/logs/${LOG}/queries`, saved);
  await page.goto(`/#/${LOG}`);
  await page.getByRole("button", { name: "Open a saved query" }).click();
  const choice = page.getByRole("dialog", { name: "Saved queries" }).getByRole("button", { name: "Opened again" });
  await choice.waitFor();
  await assertFits(t, page, "saved queries");
  const { x, width } = (await page.getByRole("dialog", { name: "Saved queries" }).boundingBox())!;
  t.true(x >= 0 && x + width <= PHONE.width);
  await choice.click();
  await page.locator("#found", { hasText: "1 event" }).waitFor();
  t.is(await page.getByRole("textbox", { name: /Query/ }).inputValue(), query);
});

test.serial("fields too many for one request of the store are read in parts", async (t) => {
  const attributes = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`part${i}`, i]));
  await pages.post([{ text: "of many fields", source: "many-fields", attributes }]);
  const { page, problems } = await pages.open(t, { address: "#/you" });
  problems.allowStatus(503);
  await page.route(/DISTINCT/, async (route) => {
    const count = route.request().url().split("DISTINCT").length - 1;
    if (count <= 4) return route.continue();
    const error = { code: "overloaded", message: "The query needs more memory than the store may use" };
    return route.fulfill({ status: 503, json: { error } });
  });
  await page.goto(`/#/${LOG}?${queryOf("many-fields")}`);
  await page.locator(".facet h3", { hasText: "@part8" }).waitFor();
  await page.locator(".facet .val", { hasText: "many-fields" }).waitFor();
  t.is(await page.locator(".side").getByText("Not read").count(), 0);
});
