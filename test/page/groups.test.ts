import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const addressOf = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;
const headed = (page: Page, words: string) => page.getByRole("heading", { level: 1, name: words, exact: true });
const keysOf = (page: Page) => page.locator(".groups .rowname").allTextContents();
const figuresOf = (page: Page, column: number) =>
  page.locator(`.groups tbody td.num:nth-of-type(${column})`).allTextContents();

/** Posts events of some users: user n has n events, each of the value 100 - n. */
async function postUsers(tag: string, count: number): Promise<void> {
  await pages.post(
    Array.from({ length: count }, (_, i) => i + 1).flatMap((number) =>
      Array.from({ length: number }, () => ({
        text: `of ${number}`,
        tags: [tag],
        user: `user-of-a-long-name-${tag}-${number}`,
        value: 100 - number,
      })),
    ),
  );
}

test("groups are told apart where the columns of a query leave out their keys", async (t) => {
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

test("one value that is huge leaves groups and bands readable, and its digits in a title", async (t) => {
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
