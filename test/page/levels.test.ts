import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages, signIn } from "./support/pages.ts";

const pages = sharePages();
const EVENTS = [
  { text: "refused", tags: ["Error", "leveled"] },
  { text: "slow", tags: ["leveled", "warning"] },
  { text: "started", tags: ["info", "leveled"] },
  { text: "plain", tags: ["leveled"] },
  { text: "of a class", tags: ["fatal", "leveled", "classed"] },
];
const address = `#/${LOG}?q=${encodeURIComponent("GET events WHERE tags = 'leveled'")}`;

let posting: Promise<unknown> | null = null;
async function postAll(page: Page): Promise<void> {
  posting ??= (async () => {
    await signIn(page.context());
    const filter = { key: "classed", display: "Classed", color: "green", tag: "classed", weight: 1 };
    const made = await page.context().request.post(`/manage/1/logs/${LOG}/classFilters`, {
      data: filter,
      headers: { "X-Loggia": "1" },
    });
    if (made.status() !== 201) throw new Error(await made.text());
    await pages.post(EVENTS);
  })();
  await posting;
}

const markOf = (page: Page, text: string) =>
  page
    .locator("#list .row", { hasText: text })
    .first()
    .evaluate((row) => getComputedStyle(row, "::before").backgroundColor);

test.serial("rows and bars without a class are coloured by their level, and classes win", async (t) => {
  const { page } = await pages.open(t, { address: "#/inbox" });
  await postAll(page);
  await page.goto(`/${address}`);
  // The page reads the classes when it loads.
  await page.reload();
  await page.locator("#list .row", { hasText: "of a class" }).waitFor();
  const texts = ["plain", "refused", "slow", "started", "of a class"];
  const marks = async () => new Set(await Promise.all(texts.map((text) => markOf(page, text))));
  await until(async () => (await marks()).size === texts.length, { what: "a colour for each level and the class" });
  const levelOf = (text: string) =>
    page
      .locator("#list .row", { hasText: text })
      .first()
      .evaluate((row: HTMLElement) => row.dataset["level"] ?? null);
  t.is(await levelOf("refused"), "error");
  t.is(await levelOf("of a class"), null);
  for (const part of [
    "[data-level=error]",
    "[data-level=warn]",
    "[data-level=info]",
    ".rest",
    "[data-class=classed]",
  ]) {
    await page.locator(`.plot .b${part}`).waitFor();
    t.is(await page.locator(`.plot .b${part}`).count(), 1, part);
  }
  const described = () =>
    page
      .locator(".plot [role=option]")
      .evaluateAll((bars) => bars.map((bar) => bar.getAttribute("aria-label") ?? "").join("\n"));
  await until(async () => /5 events, 1 Classed, 1 error, 1 warn, 1 info/.test(await described()), {
    what: "the classes and levels of a bar",
  });
  await page.getByRole("button", { name: "Table" }).click();
  const heads = page.locator(".column-table th[scope=col]");
  await heads.nth(6).waitFor();
  t.deepEqual((await heads.allTextContents()).slice(2), ["Classed", "error", "warn", "info", "No class"]);
  await assertAccessible(t, page, "events with levels");
});

test.serial("in dark, rows are coloured by their level too", async (t) => {
  const { page } = await pages.open(t, { address: "#/inbox", colorScheme: "dark" });
  await postAll(page);
  await page.goto(`/${address}`);
  await page.locator("#list .row", { hasText: "refused" }).waitFor();
  await until(async () => (await markOf(page, "refused")) === "rgb(217, 66, 58)", { what: "the colour of an error" });
  await assertAccessible(t, page, "events with levels, in dark");
});

test.serial("columns that a query names are those of the list, the level too", async (t) => {
  const { page } = await pages.open(t, { address: "#/inbox" });
  await postAll(page);
  const query = encodeURIComponent("GET events WHERE tags = 'leveled' COLUMNS(level, text) SORT level DESC");
  await page.goto(`/#/${LOG}?q=${query}`);
  const rows = page.locator("#list .row:not(.head)");
  await rows.nth(4).waitFor();
  const cells = await rows.evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("[role=gridcell]")].slice(1).map((cell) => cell.textContent)),
  );
  t.deepEqual(cells, [
    ["fatal", "of a class"],
    ["error", "refused"],
    ["warn", "slow"],
    ["info", "started"],
    ["", "plain"],
  ]);
  t.deepEqual((await page.locator("#list .row.head [role=columnheader]").allTextContents()).slice(1, 3), [
    "Level",
    "Text",
  ]);
});
