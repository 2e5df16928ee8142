import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";
import { answerQueries, waitForPreload } from "./support/states.ts";

const pages = sharePages();
const listOf = (source: string, more = "") =>
  `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}${more}`;
const titled = (page: Page, title: string | RegExp) =>
  page.locator(".msg", { has: page.getByRole("heading", { name: title }) });

/**
 * Records in every frame how far a part of the page has moved.
 * @returns the largest distance, in pixels
 */
async function watch(page: Page, selector: string): Promise<() => Promise<number>> {
  const watching = await page.evaluateHandle((found) => {
    const topOf = () => document.querySelector(found)?.getBoundingClientRect().top ?? Infinity;
    const start = topOf();
    const seen = { farthest: 0, isOn: true };
    const look = () => {
      seen.farthest = Math.max(seen.farthest, Math.abs(topOf() - start));
      if (seen.isOn) requestAnimationFrame(look);
    };
    look();
    return seen;
  }, selector);
  return () =>
    watching.evaluate((seen) => {
      seen.isOn = false;
      return seen.farthest;
    });
}

const SIZES = [
  { width: 1440, height: 900 },
  { width: 360, height: 780 },
] as const;

for (const viewport of SIZES) {
  test.serial(`a slow and a failed query move no row, ${viewport.width} px wide`, async (t) => {
    const source = `still-${viewport.width}`;
    await pages.post(Array.from({ length: 120 }, (_, i) => ({ text: `number ${i}`, source })));
    const { page, problems } = await pages.open(t, { address: listOf(source), viewport });
    const row = page.locator("#list .slot", { has: page.getByText("number 90", { exact: true }) });
    await page.locator("#list").getByText("number 119", { exact: true }).waitFor();
    await waitForPreload(page);
    await page.locator("#list").hover();
    await page.mouse.wheel(0, 500);
    await page.waitForFunction(() => document.querySelector("#list")?.scrollTop === 500);
    const id = await row.getAttribute("data-id");
    problems.allowNoAnswer();
    problems.allowStatus(503);
    const farthest = await watch(page, `#list [data-id="${id}"]`);
    const fieldMoved = viewport.width > 1_100 ? await watch(page, "aside.side .valrow") : null;
    const queries = /\/1\/logs\/.*(?:query|fields)\?/;
    await page.route(queries, () => undefined);
    await page.getByRole("button", { name: "Run" }).click();
    const slow = titled(page, /^Still searching/);
    await slow.waitFor();
    t.true(await slow.getByRole("button", { name: "Cancel" }).isVisible());
    await assertAccessible(t, page, `a slow query, ${viewport.width} px wide`);
    await slow.getByRole("button", { name: "Cancel" }).click();
    await slow.waitFor({ state: "detached" });
    await page.unroute(queries);
    const stop = await answerQueries(page, { status: 503, code: "overloaded", message: "Busy", retryAfter_s: 60 });
    await page.getByRole("button", { name: "Run" }).click();
    const busy = titled(page, "The service is busy");
    await busy.waitFor();
    t.true(await busy.getByRole("button", { name: "Try now" }).isVisible());
    await assertAccessible(t, page, `a failed query, ${viewport.width} px wide`);
    t.true((await farthest()) <= 1, `the row moved by ${await farthest()} px`);
    if (fieldMoved !== null) {
      const notes = page.locator("aside.side").getByText("Not up to date");
      await until(async () => (await notes.count()) > 1, { what: "the fields that are not up to date" });
      t.true((await fieldMoved()) <= 1, `the fields moved by ${await fieldMoved()} px`);
    }
    await stop();
    await busy.getByRole("button", { name: "Try now" }).click();
    await busy.waitFor({ state: "detached" });
  });
}

test.serial("a link to an event that is not in the list moves no row", async (t) => {
  await pages.post(Array.from({ length: 30 }, (_, i) => ({ text: `beside ${i}`, source: "still-link" })));
  const [id = ""] = await pages.post([{ text: "elsewhere", source: "still-other" }]);
  const { page } = await pages.open(t, { address: "#/you" });
  await page.locator(".pane h1").waitFor();
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await page.route(`**/events/${id}`, async (route) => {
    asked.resolve();
    await go.promise;
    await route.continue();
  });
  await page.goto(`/${listOf("still-link", `&open=${id}`)}`);
  await page.locator("#list").getByText("beside 29", { exact: true }).waitFor();
  await asked.promise;
  await page.locator(".hist [role=option]").first().waitFor({ state: "attached" });
  const farthest = await watch(page, "#list .slot");
  go.resolve();
  await titled(page, "The event of the link is not in this list").waitFor();
  t.true((await farthest()) <= 1);
});

test.serial("groups and patterns stay in place below the error that stopped the next ones", async (t) => {
  await pages.post([{ text: "grouped 1", source: "still-groups" }]);
  for (const address of [
    `#/${LOG}?q=${encodeURIComponent("GET events WHERE source = 'still-groups' GROUPBY source COLUMNS(KEY, COUNT)")}`,
    listOf("still-groups", "&view=patterns"),
  ]) {
    const { page, problems } = await pages.open(t, { address });
    await page.locator(".groups tbody tr").first().waitFor();
    problems.allowStatus(503);
    await answerQueries(page, { status: 503, code: "overloaded", message: "Busy", retryAfter_s: 60 });
    const farthest = await watch(page, ".groups tbody tr");
    await page.getByRole("button", { name: "Run" }).click();
    await titled(page, "The service is busy").waitFor();
    t.true((await farthest()) <= 1, address);
  }
});
