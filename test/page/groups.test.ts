import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const addressOf = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;
const headed = (page: Page, words: string) => page.getByRole("heading", { level: 1, name: words, exact: true });
const keysOf = (page: Page) => page.locator(".groups .rowname").allTextContents();
const figuresOf = (page: Page, column: number) =>
  page.locator(`.groups tbody td.num:nth-of-type(${column})`).allTextContents();

const HOUR_MS = 3_600_000;

/** Returns a moment of the last hours that is on one day in Berlin with the hour before it. */
function momentOfADay(): number {
  const now = Date.now();
  const hour = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", hour: "numeric" }).format(now);
  return Number(hour) % 24 === 0 ? now - 2 * HOUR_MS : now;
}

/** Posts events of some users within two hours: user n has n events, each of the value 100 - n. */
async function postUsers(tag: string, count: number): Promise<void> {
  const latest = momentOfADay();
  await pages.post(
    Array.from({ length: count }, (_, i) => i + 1).flatMap((number) =>
      Array.from({ length: number }, (__, event) => ({
        text: `of ${number}`,
        tags: [tag],
        user: `user-of-a-long-name-${tag}-${number}`,
        value: 100 - number,
        created: latest - (event % 2) * HOUR_MS,
      })),
    ),
  );
}

test("groups are distinct if the columns of a query leave out their keys", async (t) => {
  await postUsers("keyless", 4);
  const grouped = "GET events WHERE tags = 'keyless' GROUPBY user";
  const { page } = await pages.open(t, { address: addressOf(`${grouped} COLUMNS(count, sum)`) });
  await headed(page, "10 events in 4 groups").waitFor();
  const names = [4, 3, 2, 1].map((number) => `user-of-a-long-name-keyless-${number}`);
  t.deepEqual(await keysOf(page), names);
  t.deepEqual(await figuresOf(page, 1), ["4", "3", "2", "1"]);
  await page.goto(`/${addressOf(`${grouped}, DAY COLUMNS(sum, count, avg)`)}`);
  await page.getByText(/^by user and day, /).waitFor();
  await headed(page, "10 events in 4 groups").waitFor();
  t.deepEqual((await keysOf(page)).toSorted(), names.toSorted());
  await page.goto(`/${addressOf(`${grouped} COLUMNS(avg)`)}`);
  await headed(page, "4 groups").waitFor();
  t.deepEqual((await keysOf(page)).toSorted(), names.toSorted());
});

test("a huge value keeps groups and bands readable, with its digits in a title", async (t) => {
  const of = (value: number, user: string) => ({ text: "measured", tags: ["huge"], user, value });
  await pages.post([of(1e300, "huge"), of(0.0000001, "tiny"), ...Array.from({ length: 40 }, (_, i) => of(i, "usual"))]);
  const { page } = await pages.open(t, {
    address: addressOf(
      "GET events WHERE tags = 'huge' GROUPBY user COLUMNS(KEY, COUNT, AVG, SUM, MIN, MAX, LAST(text))",
    ),
  });
  await headed(page, "42 events in 3 groups").waitFor();
  const row = page.locator(".groups tbody tr", { has: page.getByRole("rowheader", { name: "huge" }) });
  t.deepEqual((await row.locator("td.num").allTextContents()).slice(0, 5), [
    "1",
    "1.0e300",
    "1.0e300",
    "1.0e300",
    "1.0e300",
  ]);
  const exact = await row.locator("td.num").nth(1).getAttribute("title");
  t.is(Number(exact), 1e300);
  const tiny = page.locator(".groups tbody tr", { has: page.getByRole("rowheader", { name: "tiny" }) });
  t.is(await tiny.locator("td.num").nth(1).textContent(), "1.0e-7");
  const widths = await page.locator(".groups").evaluate((groups) => [groups.scrollWidth, groups.clientWidth]);
  t.true(widths[0]! <= widths[1]!, widths.join(" in "));

  await page.goto(`/${addressOf("GET events WHERE tags = 'huge' GROUPBY BANDS(value, 0, 2e299)")}`);
  await headed(page, "42 events in 2 groups").waitFor();
  t.deepEqual(await keysOf(page), ["0 to 2e299", "from 2e299"]);
  await page.goto(`/${addressOf("GET events WHERE tags = 'huge'")}`);
  const names = page.locator("aside.side .valrow .n", { hasText: /^(?:up to|from|\S+ to) / });
  await names.first().waitFor();
  const words = await names.allTextContents();
  t.true(
    words.some((each) => /\de299/.test(each)),
    words.join(),
  );
  t.false(
    words.some((each) => /e\+|\d{10}/.test(each)),
    words.join(),
  );
});

test("a chart draws the column that sorts the table, and names it, its time zone and what it leaves out", async (t) => {
  await postUsers("drawn", 26);
  const query = "GET events WHERE tags = 'drawn' GROUPBY user COLUMNS(KEY, COUNT, MIN)";
  const { page } = await pages.open(t, { address: addressOf(query) });
  await headed(page, "351 events in 26 groups").waitFor();
  const caption = page.locator(".chart figcaption");
  t.is(await caption.textContent(), "Events by user, 24 of 26 groups");
  t.regex((await page.locator(".found .note").textContent()) ?? "", / Berlin, \d+ ms$/);
  t.is(await page.getByRole("button", { name: "Lines" }).count(), 0);
  const bars = page.locator(".chart .bar title");
  t.is((await bars.allTextContents())[0], "user-of-a-long-name-drawn-26: 26");
  const labels = await page.locator(".chart .bar + text").allTextContents();
  t.is(new Set(labels).size, 24);
  t.is(labels[0], "use…awn-26");
  await page.getByRole("columnheader", { name: "min" }).getByRole("button").click();
  await caption.filter({ hasText: /^min by user, 24 of 26 groups$/ }).waitFor();
  t.is((await bars.allTextContents())[0], "user-of-a-long-name-drawn-1: 99");
  const widths = await page
    .locator(".groups .cell-bar rect")
    .evaluateAll((all) => all.map((each) => Number.parseFloat(each.getAttribute("width") ?? "")));
  t.is(widths[0], 100);
  t.true(Math.abs(widths.at(-1)! - (74 / 99) * 100) < 0.1, String(widths));
  await assertAccessible(t, page, "groups sorted by a column of their own");

  await page.goto(`/${addressOf(`${query.replace("user", "user, HOUR")} SORT MIN DESC`)}`);
  await caption.filter({ hasText: /^min by user, 8 of 26 groups$/ }).waitFor();
  await page.getByRole("button", { name: "Lines" }).waitFor();
});
