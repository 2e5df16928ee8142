import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";

const pages = sharePages();
const addressOf = (query: string) => `#/${LOG}?q=${encodeURIComponent(query)}`;
const headed = (page: Page, words: string) => page.getByRole("heading", { level: 1, name: words, exact: true });

/**
 * Posts events of many sources, so that some are not among the most frequent; source n has n
 * events.
 */
async function postSources(tag: string, count: number): Promise<void> {
  await pages.post(
    Array.from({ length: count }, (_, i) => i + 1).flatMap((number) =>
      Array.from({ length: number }, () => ({ text: `of ${number}`, source: `${tag}-${number}`, tags: [tag] })),
    ),
  );
}

/** A value of a field. */
const valueOf = (page: Page, value: string) =>
  page.locator("aside.side .valrow", { has: page.getByText(value, { exact: true }) });

/** Returns the count of a value once it is shown. */
async function countOf(page: Page, value: string): Promise<string | null> {
  const count = valueOf(page, value).locator(".c");
  await count.filter({ hasText: /\d/ }).waitFor();
  return count.textContent();
}

test("a selected value outside the most frequent has its exact count", async (t) => {
  await postSources("rare", 8);
  const condition = "source IN ('rare-2', 'rare-7') AND source != 'rare-1' AND source != 'rare-none'";
  const { page } = await pages.open(t, { address: addressOf(`GET events WHERE tags = 'rare' AND ${condition}`) });
  await headed(page, "9 events").waitFor();
  for (const [source, count] of [
    ["rare-7", "7"],
    ["rare-2", "2"],
    ["rare-1", "1"],
    ["rare-none", "0"],
  ] as const) {
    t.is(await countOf(page, source), count, source);
  }
  t.is(await valueOf(page, "rare-2").getByRole("button").first().getAttribute("aria-pressed"), "true");
  await assertAccessible(t, page, "chosen values with their counts");
});

test("selecting a value keeps the other values and bands of its field available", async (t) => {
  await postSources("reach", 9);
  const values = Array.from({ length: 40 }, (_, i) => ({ text: "banded", tags: ["reach"], value: i * 10 }));
  await pages.post(values);
  const { page } = await pages.open(t, { address: addressOf("GET events WHERE tags = 'reach'") });
  await headed(page, "85 events").waitFor();
  await valueOf(page, "50 to 100").waitFor();
  const bands = () => page.locator("aside.side .valrow .n", { hasText: /^(?:up to|from|\d+ to) / }).allTextContents();
  const before = await bands();
  await valueOf(page, "50 to 100").getByRole("button").first().click();
  await headed(page, "5 events").waitFor();
  await valueOf(page, "50 to 100").locator("[aria-pressed=true]").waitFor();
  await quiet(page);
  t.deepEqual(await bands(), before);
  await page.goBack();
  await headed(page, "85 events").waitFor();
  await valueOf(page, "reach-9").getByRole("button").first().click();
  await headed(page, "9 events").waitFor();
  await quiet(page);
  // Four values and the absent value are listed.
  await page.getByRole("button", { name: "5 more" }).click();
  await valueOf(page, "reach-2").waitFor();
  t.is(await countOf(page, "reach-2"), "2");
});

test("selected tags and bands have their exact counts", async (t) => {
  const both = { text: "both", tags: ["tagged", "tagged-a", "tagged-b"], value: 5 };
  const others = Array.from({ length: 6 }, (_, i) => ({
    text: "other",
    tags: ["tagged", `tagged-x${i}`],
    value: 900 + i,
  }));
  await pages.post([both, both, { ...both, tags: ["tagged", "tagged-b"] }, ...others, ...others, ...others]);
  const query = "GET events WHERE text IN ('both', 'other') AND tags = 'tagged-a' AND value >= 3 AND value < 7";
  const { page } = await pages.open(t, { address: addressOf(query) });
  await headed(page, "2 events").waitFor();
  t.is(await countOf(page, "tagged-a"), "2");
  t.is(await countOf(page, "3 to 7"), "2");
});

test("a query with a limit says that it shows a part, and of how many", async (t) => {
  await postSources("part", 5);
  const query = "GET events WHERE tags = 'part' SORT source DESC TAKE 4";
  const { page } = await pages.open(t, { address: addressOf(query) });
  await headed(page, "First 4 of 15 events").waitFor();
  await page.locator(".found .note", { hasText: /bars and fields count all of them$/ }).waitFor();
  await page.getByText("End of the list. The 4 events that the query takes are shown.", { exact: true }).waitFor();
  const bars = page.locator(".hist [role=option]");
  await bars.first().waitFor({ state: "attached" });
  const names = await bars.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label") ?? ""));
  t.is(
    names.reduce((sum, name) => sum + Number(/: ([\d,]+) events?/.exec(name)?.[1]), 0),
    15,
  );
  t.is(await page.title(), `First 4 of 15 events, ${LOG}, Loggia`);
  await assertAccessible(t, page, "a part of the events");
  await page.getByRole("textbox", { name: /Query/ }).fill("GET events WHERE tags = 'part' TAKE 100");
  await page.getByRole("button", { name: "Run" }).click();
  await headed(page, "15 events").waitFor();
  await page.getByText("End of the list. The 15 events that the query takes are shown.", { exact: true }).waitFor();
});
