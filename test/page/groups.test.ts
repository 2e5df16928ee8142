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
