import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { BrowserContext, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const tailOf = (source: string) => `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}&live=1`;
const numbered = (source: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ text: `number ${from + i}`, source }));

/** Returns the total of all bars. */
async function barsTotal(page: Page): Promise<number> {
  const bars = page.locator(".hist [role=option]");
  await bars.first().waitFor({ state: "attached" });
  const names = await bars.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label") ?? ""));
  return names.reduce((sum, name) => sum + Number(/: ([\d,]+) events?/.exec(name)?.[1]?.replace(",", "")), 0);
}

/** What is known of the queries of a page. */
type Queries = { readonly asked_ms: readonly number[]; readonly most: number };

/**
 * Makes a page note when it asks for the count of events, and the most queries under way at a time.
 * The page itself notes it, because its events reach this process late and in another order.
 */
async function noteQueries(page: Page): Promise<() => Promise<Queries>> {
  await page.addInitScript(() => {
    const queries = { asked_ms: [] as number[], most: 0 };
    Object.assign(globalThis, { queries });
    const request = globalThis.fetch;
    let underWay = 0;
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      if (!/\/(?:query|fields)\?/.test(url)) return request(input, init);
      if (/COLUMNS(?:\(|%28)COUNT(?:\)|%29)/.test(url)) queries.asked_ms.push(performance.now());
      queries.most = Math.max(queries.most, (underWay += 1));
      try {
        const response = await request(input, init);
        return new Response(await response.arrayBuffer(), response);
      } finally {
        underWay -= 1;
      }
    };
  });
  return () => page.evaluate(() => (globalThis as unknown as { queries: Queries }).queries);
}

/** Returns the number of events in an export of the result. */
async function exportedLines(page: Page, context: BrowserContext): Promise<number> {
  await page.locator("[data-act=export] button").first().click();
  const asking = page.waitForRequest("**/1/session/tickets");
  await page.getByLabel("Export all of the result as").selectOption("ndjson");
  await page.getByRole("dialog", { name: "Export" }).getByRole("button", { name: "Export" }).click();
  const { path } = (await asking).postDataJSON() as { path: string };
  const answer = await context.request.get(path, { headers: { "X-Loggia": "1" } });
  return (await answer.text()).split("\n").filter((line) => line !== "").length;
}

const headed = (page: Page, words: string) => page.getByRole("heading", { level: 1, name: words, exact: true });

// One at a time, because an account may have only a few tails.
test.serial("heading, bars and fields follow a tail, and the row of an open event keeps its place", async (t) => {
  await pages.post([...numbered("counted", 1, 3), ...numbered("counted-not", 1, 1)]);
  const query = "GET events WHERE source CONTAINS 'counted' OCCURS(NOW - HOURS(1), NOW) TAKE 2";
  const { page, context } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent(query)}&live=1` });
  await headed(page, "4 events").waitFor();
  await pages.post(numbered("counted", 4, 5));
  await headed(page, "9 events").waitFor();
  await until(async () => (await barsTotal(page)) === 9, { what: "bars of nine events" });
  await page.locator("aside.side .valrow", { hasText: /^counted\s*8/ }).waitFor();
  t.is(
    await page
      .locator(".found .note")
      .getByText(/ ms|Live began/)
      .count(),
    0,
  );
  t.is(await page.locator("#found").getAttribute("aria-live"), "off");
  t.is(await exportedLines(page, context), 9);
  // While an event is open, everything is frozen with the list.
  const row = page.locator("#list [data-id]", { hasText: "number 3" }).first();
  await row.click();
  await page.getByText("An event is open.").first().waitFor();
  const top = (await row.boundingBox())!.y;
  await pages.post(numbered("counted", 9, 2));
  await page.getByText("Paused, 2 new").first().waitFor();
  await sleep(7_000);
  t.is(await page.locator("#found").textContent(), "9 events");
  t.is((await row.boundingBox())!.y, top);
  await page.keyboard.press("p");
  await headed(page, "11 events").waitFor();
});

test.serial("bars and fields are frozen under the pointer and the focus, and follow afterwards", async (t) => {
  await pages.post(numbered("in-use", 1, 3));
  const { page } = await pages.open(t, { address: tailOf("in-use") });
  await headed(page, "3 events").waitFor();
  await page.locator("aside.side .valrow", { hasText: /^in-use/ }).waitFor();
  await page.locator(".hist .plot").hover();
  await pages.post(numbered("in-use", 4, 2));
  await page.locator("#list").getByText("number 5", { exact: true }).waitFor();
  await sleep(7_000);
  t.is(await page.locator("#found").textContent(), "3 events");
  await page.locator(".found h1").hover();
  await headed(page, "5 events").waitFor();
  await page.locator(".hist [role=listbox]").focus();
  await page.keyboard.press("ArrowRight");
  await pages.post(numbered("in-use", 6, 1));
  await page.locator("#list").getByText("number 6", { exact: true }).waitFor();
  await sleep(7_000);
  t.is(await page.locator("#found").textContent(), "5 events");
  await page.locator(".hist [role=listbox]").blur();
  await headed(page, "6 events").waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page
    .locator(".found .note")
    .getByText(/, \d+ ms$/)
    .waitFor();
  await headed(page, "6 events").waitFor();
});

test.serial(
  "while events keep arriving, counts are read at most every 5 s, four at a time, and no row moves",
  async (t) => {
    t.timeout(600_000);
    await pages.post(numbered("steady", 1, 60));
    const { page } = await pages.open(t, { address: "#/you" });
    const queries = await noteQueries(page);
    await page.goto(`/${tailOf("steady")}&order=old`);
    await page.reload();
    await headed(page, "60 events").waitFor();
    // The first count is that of the search, before the tail.
    const before_count = (await queries()).asked_ms.length;
    const readings = async () => (await queries()).asked_ms.slice(before_count);
    const list = page.locator("#list");
    const top = async () => (await list.boundingBox())!.y;
    const before = await top();
    let count = 60;
    // After a slow reading the next one waits longer.
    while (count < 86 || (count < 200 && (await readings()).length < 2)) {
      await pages.post(numbered("steady", ++count, 1));
      await sleep(500);
      t.is(await top(), before);
    }
    await headed(page, `${count} events`).waitFor();
    const asked_ms = await readings();
    t.true(asked_ms.length >= 2, `${asked_ms.length} readings`);
    const gaps = asked_ms.slice(1).map((at, i) => at - asked_ms[i]!);
    t.true(Math.min(...gaps) >= 4_900, gaps.join(", "));
    const { most } = await queries();
    t.true(most <= 4, `${most} at a time`);
  },
);

test.serial("pressing a bar ends the tail, which would go on past its range", async (t) => {
  await pages.post([
    { text: "ten days ago", source: "ends", created: Date.now() - 10 * 86_400_000 },
    ...numbered("ends", 1, 2),
  ]);
  // Bars of hours, whose ends rarely pass between reading their names and pressing one.
  const { page } = await pages.open(t, { address: `${tailOf("ends")}&from=-30d` });
  await headed(page, "3 events").waitFor();
  const bars = page.locator(".hist [role=option]");
  await bars.first().waitFor({ state: "attached" });
  const names = await bars.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label") ?? ""));
  const box = (await page.locator(".hist .plot").boundingBox())!;
  const index = names.findIndex((name) => name.includes(": 1 event"));
  await page.mouse.click(box.x + ((index + 0.5) / names.length) * box.width, box.y + box.height / 3);
  await headed(page, "1 event").waitFor();
  await page.getByText("End of the range. The one event is shown.").waitFor();
  t.is(await page.locator(".live").count(), 0);
  await page.goBack();
  await page.locator(".live").waitFor();
});
