import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { ExecutionContext } from "ava";
import type { Page } from "playwright-core";

import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";

const ALL = "GET events WHERE source CONTAINS 'till-'";
const addressOf = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;
const rowOf = (page: Page, text: string) =>
  page.locator("#list [data-id]", { has: page.getByText(text, { exact: true }) });

for (const kind of KINDS) {
  const pages = sharePages(kind);
  let posting: Promise<unknown> | null = null;
  /** Posts the day of two tills: 12 sales by 3 users, and a failed one among them. */
  const postDay = () =>
    (posting ??= pages.post(
      Array.from({ length: 13 }, (_, i) => ({
        text: i === 6 ? "payment refused" : `sale ${i} of the day`,
        source: i === 6 ? "till-1" : `till-${i % 2}`,
        user: `user-${i % 3}`,
        value: i,
        tags: i === 6 ? ["failed"] : ["sale"],
        attributes: { took: i * 10, "http.status": i === 6 ? 502 : 200 },
        created: Date.now() - (13 - i) * 600_000,
      })),
    ));

  test(`${kind}: after the sign-in, a query is narrowed by its bars, and back undoes it`, async (t) => {
    await postDay();
    const { page } = await pages.open(t, { address: addressOf(ALL), signedIn: false });
    await page.getByLabel("E-mail").fill(ADMIN.email);
    await page.getByLabel("Password").fill(ADMIN.password);
    await page.keyboard.press("Enter");
    await heading(page, "13 events");
    const bars = page.locator(".hist [role=option]");
    await bars.first().waitFor({ state: "attached" });
    const names = await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute("aria-label") ?? ""));
    const counts = names.map((name) => Number(/: (\d+) event/.exec(name)?.[1] ?? 0));
    t.is(
      counts.reduce((sum, count) => sum + count, 0),
      13,
    );
    const at = counts.findIndex((count) => count > 0);
    await page.locator(".hist [role=listbox]").focus();
    await page.keyboard.press("Home");
    for (let step = 0; step < at; step++) await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await heading(page, counts[at] === 1 ? "1 event" : `${counts[at]} events`);
    await until(async () => (await page.locator("#list [data-id]").count()) === counts[at], { what: "its rows" });
    await page.goBack();
    await heading(page, "13 events");
  });

  test(`${kind}: an event is opened, bookmarked and read among its neighbours, and its values narrow the query`, async (t) => {
    await postDay();
    const { page } = await pages.open(t, { address: addressOf(`${ALL} AND @http.status >= 500`) });
    await heading(page, "1 event");
    const failed = rowOf(page, "payment refused");
    await failed.click();
    const open = page.locator("#list .open");
    await open.getByRole("button", { name: "till-1" }).waitFor();
    await open.getByText("http.status").waitFor();
    // The list of bookmarks is read before the service has stored this one.
    await page.route("**/bookmarks", async (route) => {
      if (route.request().method() === "POST") await sleep(1_000);
      await route.continue();
    });
    await open.getByRole("button", { name: /^Bookmark/ }).click();
    await failed.locator(".flagged").waitFor();
    await page.goto("/#/bookmarks");
    await rowOf(page, "payment refused").waitFor();
    await page.goBack();
    await failed.waitFor();
    await page.keyboard.press("c");
    await page.waitForURL("**around=*");
    await rowOf(page, "sale 5 of the day").waitFor();
    await rowOf(page, "sale 7 of the day").waitFor();
    const texts = await page.locator("#list [data-id] .x").allTextContents();
    const at = texts.indexOf("payment refused");
    t.deepEqual(texts.slice(at - 1, at + 2), ["sale 7 of the day", "payment refused", "sale 5 of the day"]);
    await page.keyboard.press("Escape");
    await heading(page, "1 event");
  });

  test(`${kind}: fields, patterns and groups describe the result, each one press from its events`, async (t) => {
    await postDay();
    const { page } = await pages.open(t, { address: addressOf(ALL) });
    const fields = page.getByRole("complementary", { name: "Fields" });
    await fields.getByRole("button", { name: /till-1.*7/ }).click();
    await heading(page, "7 events");
    await page.goto(`/${addressOf(ALL, "&view=patterns")}`);
    const pattern = page.getByRole("row", { name: /sale <n> of the day/ });
    await pattern.waitFor();
    t.regex((await pattern.textContent()) ?? "", /^12/);
    await page.goto(`/${addressOf(`${ALL} GROUPBY user COLUMNS(KEY, COUNT, SUM(@took)) SORT SUM(@took) DESC`)}`);
    const group = page.getByRole("row", { name: /user-0/ });
    await group.waitFor();
    // 0, 30, 60, 90 and 120 ms.
    t.regex((await group.textContent()) ?? "", /5.*300/);
    await group.getByRole("button", { name: "Events" }).click();
    await heading(page, "5 events");
  });

  test(`${kind}: a tail shows new events, and an export equals the list`, async (t) => {
    await postDay();
    const { page } = await pages.open(t, { address: addressOf("GET events WHERE source = 'belt'", "&live=1") });
    await page.getByText("New events appear as they are stored.").first().waitFor();
    await pages.post([{ text: "came while the page followed", source: "belt" }]);
    await rowOf(page, "came while the page followed").waitFor();
    const texts = Array.from({ length: 13 }, (_, i) => (i === 6 ? "payment refused" : `sale ${i} of the day`));
    t.deepEqual(await exportedTexts(t, page, `${ALL} SORT value`), texts);
  });
}

async function heading(page: Page, words: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name: words, exact: true }).waitFor();
}

/** Returns the texts in the file that the page exports for a query. */
async function exportedTexts(t: ExecutionContext, page: Page, query: string): Promise<string[]> {
  await page.goto(`/${addressOf(query)}`);
  await page.locator("#list [data-id]").first().waitFor();
  await page.keyboard.press("x");
  const dialog = page.getByRole("dialog", { name: "Export" });
  await dialog.getByLabel("Export all of the result as").selectOption("ndjson");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Export" }).click(),
  ]);
  t.is(download.suggestedFilename(), `${LOG}.ndjson`);
  const lines = readFileSync(await download.path(), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => (JSON.parse(line) as { text: string }).text);
}
