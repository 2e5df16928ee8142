import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { pressInTurn } from "./support/clock.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const SOURCE = "addressed";
const ALL = `GET events WHERE source = '${SOURCE}'`;
const ROWS = 300;

let posting: Promise<unknown> | null = null;
const postRows = () =>
  (posting ??= pages.post(
    Array.from({ length: ROWS }, (_, i) => ({
      text: `row ${i} of many`,
      source: SOURCE,
      attributes: { took: i },
      created: Date.now() - (ROWS - i) * 10_000,
    })),
  ));
test.beforeEach(postRows);

const addressOf = (more = "") => `#/${LOG}?q=${encodeURIComponent(ALL)}${more}`;

/** Returns the parameters of the page's address except the query. */
async function parametersOf(page: Page): Promise<Readonly<Record<string, string>>> {
  const hash = await page.evaluate(() => location.hash);
  const { q: _, ...others } = Object.fromEntries(new URLSearchParams(hash.split("?")[1] ?? ""));
  return others;
}

/** Waits until the address has these parameters besides the query, and no others. */
async function assertParameters(page: Page, expected: Readonly<Record<string, string>>): Promise<void> {
  await until(async () => JSON.stringify(await parametersOf(page)) === JSON.stringify(expected), {
    what: `the address with ${JSON.stringify(expected)}, not ${JSON.stringify(await parametersOf(page))}`,
  });
}

const firstRow = (page: Page) =>
  page.evaluate(() => {
    const list = document.querySelector("#list")!;
    const below = list.getBoundingClientRect().top + (list.querySelector<HTMLElement>(".head")?.offsetHeight ?? 0);
    const rows = [...list.querySelectorAll<HTMLElement>(".slot > .row")];
    const seen = rows.filter((row) => row.getBoundingClientRect().bottom > below + 1);
    return seen.toSorted((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0]!.innerText;
  });

test("every choice has a short name in the address, and a reload shows it again", async (t) => {
  const { page } = await pages.open(t, { address: addressOf() });
  await page.locator("#list .row .x").first().waitFor();
  await page.keyboard.press("t");
  await page.getByRole("option", { name: "Last 7 days" }).click();
  await assertParameters(page, { t: "7d" });
  await page.getByRole("button", { name: /newest first/ }).click();
  await assertParameters(page, { t: "7d", order: "old" });
  await page.getByRole("button", { name: "Measure: Count" }).click();
  await page.getByRole("menuitemradio", { name: "Average of @took" }).click();
  await assertParameters(page, { t: "7d", order: "old", by: "avg(@took)" });
  await page.getByRole("tab", { name: "Patterns" }).click();
  await page.locator(".pat").first().waitFor();
  await assertParameters(page, { t: "7d", order: "old", by: "avg(@took)", view: "patterns" });
  await page.reload();
  await page.locator(".pat").first().waitFor();
  await page.getByRole("button", { name: "Measure: Average of @took" }).waitFor();
  t.is(await page.getByRole("tab", { name: "Patterns" }).getAttribute("aria-selected"), "true");
  await page.goBack();
  await page.getByText("row 0 of many").waitFor();
  await page.getByRole("button", { name: "Last 7 days" }).waitFor();
  await page.getByRole("button", { name: "Measure: Average of @took" }).click();
  await page.getByRole("menuitemradio", { name: "Count, not by class" }).click();
  await assertParameters(page, { t: "7d", order: "old", split: "none" });
  t.true((await page.evaluate(() => location.hash)).startsWith(`#/${LOG}?q=`));
});

test("the context of an event and every screen have the documented address", async (t) => {
  const { page } = await pages.open(t, { address: addressOf("&t=1h") });
  await page.getByText(`row ${ROWS - 1} of many`).click();
  await page.locator("#list .open").waitFor();
  await page.keyboard.press("c");
  await page.getByRole("heading", { name: /^Around/ }).waitFor();
  const { around, open, ...others } = await parametersOf(page);
  t.regex(around ?? "", /^[0-9a-f]{24}$/);
  t.is(open, around);
  t.deepEqual(others, { t: "1h" });
  const hashAfter = async (keys: string, name: string) => {
    await pressInTurn(page, ...keys);
    await page.getByRole("navigation", { name: "Main" }).locator("[aria-current=page]", { hasText: name }).waitFor();
    return page.evaluate(() => location.hash);
  };
  t.is(await hashAfter("gi", "Inbox"), "#/inbox");
  t.is(await hashAfter("gb", "Bookmarks"), "#/bookmarks");
  t.is(await hashAfter("gc", "Classes"), `#/${LOG}/classes`);
  t.is(await hashAfter("gt", "Settings"), `#/${LOG}/settings`);
  const settings = page.getByRole("navigation", { name: "Settings" });
  for (const [name, hash] of [
    ["Sessions", "#/you/sessions"],
    ["Health", "#/service/health"],
    ["Keys", `#/${LOG}/settings/keys`],
    ["Sending guide", `#/${LOG}/start`],
  ] as const) {
    await settings.getByRole("link", { name, exact: true }).click();
    await until(async () => (await page.evaluate(() => location.hash)) === hash, { what: hash });
  }
});

test("classes isolated by an address become a condition of the query", async (t) => {
  const { page } = await pages.open(t, { address: addressOf("&only=error,slow") });
  await page.getByText("No events match").first().waitFor();
  t.regex(await page.locator(".ask textarea").inputValue(), /source = 'addressed' AND class IN \('error', 'slow'\)/);
});

test("the order and the chart of groups are in the address", async (t) => {
  const { page } = await pages.open(t, {
    address: `#/${LOG}?q=${encodeURIComponent(`${ALL} GROUPBY BANDS(@took, 100, 200)`)}`,
  });
  const rows = page.locator(".groups .rowname");
  await rows.first().waitFor();
  await page.getByRole("button", { name: "None" }).click();
  await page.getByRole("button", { name: "Events", exact: true }).first().click();
  await assertParameters(page, { chart: "none", sort: "-count" });
  await page.locator(".groups thead").getByRole("button", { name: "@took" }).click();
  await assertParameters(page, { chart: "none", sort: "1" });
  await page.reload();
  await rows.first().waitFor();
  t.is(await page.getByRole("button", { name: "None" }).getAttribute("aria-pressed"), "true");
  t.is(await page.getByRole("columnheader", { name: "@took" }).getAttribute("aria-sort"), "ascending");
});

test("a copied link shows the same rows, columns and moments wherever it is opened", async (t) => {
  const { page, context } = await pages.open(t, { address: addressOf("&t=6h") });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByText(`row ${ROWS - 1} of many`).waitFor();
  await page.locator("#list").evaluate((list) => list.scrollBy(0, 26 * 80));
  await until(async () => (await parametersOf(page))["at"] !== undefined, { what: "the first row in the address" });
  const first = await firstRow(page);
  await page.getByRole("button", { name: "Copy link" }).first().click();
  await page.getByText("The link was copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const copied = Object.fromEntries(new URLSearchParams(link.split("?")[1]));
  t.deepEqual(Object.keys(copied).toSorted(), ["at", "cols", "from", "hide", "q", "to", "tz"]);
  t.is(Number(copied["to"]) - Number(copied["from"]), 6 * 3_600_000);
  t.is(copied["cols"], "class,source,text,tags");
  const { page: other } = await pages.open(t, { address: link.slice(link.indexOf("#")) });
  await other
    .getByText(/row \d+ of many/)
    .first()
    .waitFor();
  await until(async () => (await firstRow(other)) === first, { what: "the same first row" });
  // At the top there is no row to refer to, and another search starts there.
  await page.locator("#list").evaluate((list) => list.scrollTo(0, 0));
  await assertParameters(page, { t: "6h" });
});
