import test from "ava";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };

test("a pattern is named after a class that all of its events have, otherwise the share is shown", async (t) => {
  const { page, context } = await pages.open(t);
  const made = await context.request.post(`/manage/1/logs/${LOG}/classFilters`, {
    headers: HEADERS,
    data: { key: "rare", display: "Rare failure", color: "teal", text: "failed with 7" },
  });
  t.true(made.ok(), await made.text());
  const isClassified = async () => {
    await pages.post([{ text: "failed with 7", tags: ["probe"] }]);
    const params = { query: "GET events.rare COLUMNS(COUNT)" };
    const answer = await context.request.get(`/1/logs/${LOG}/query`, { headers: HEADERS, params });
    return Number(((await answer.json()) as [{ count: string }])[0].count) > 0;
  };
  await until(isClassified, { what: "an event of the class" });
  await pages.post([
    ...Array.from({ length: 19 }, (_, i) => ({ text: `failed with ${100 + i}`, tags: ["mixed"] })),
    { text: "failed with 7", tags: ["mixed"] },
    { text: "twice failed with 7", tags: ["mixed"] },
    { text: "well", tags: ["mixed"] },
  ]);
  const query = encodeURIComponent("GET events WHERE tags = 'mixed'");
  await page.goto(`/#/${LOG}?q=${query}&view=patterns`);
  const classOf = (pattern: string) =>
    page.locator(".groups tr", { has: page.getByText(pattern, { exact: true }) }).locator(".kcell");
  await classOf("failed with <n>").waitFor();
  t.is(await classOf("failed with <n>").textContent(), "Rare failure, 5 %");
  t.is(await classOf("failed with <n>").getAttribute("data-class"), null);
  t.is(await classOf("failed with <n>").getAttribute("title"), "1 of 20 events has a class");
  t.is(await classOf("twice failed with <n>").textContent(), "Rare failure");
  t.is(await classOf("twice failed with <n>").getAttribute("data-class"), "rare");
  t.is(await classOf("well").textContent(), "");
  await assertAccessible(t, page, "patterns of which a part has a class");
});
