import test from "ava";
import type { BrowserContext } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

/** Creates or changes a class through the API, as another tab does. */
async function putClass(context: BrowserContext, key: string, display: string, method = "POST"): Promise<void> {
  const path = `/manage/1/logs/${LOG}/classFilters${method === "POST" ? "" : `/${key}`}`;
  const data = { key, display, color: "crimson", weight: 5, tag: key };
  const response = await context.request.fetch(path, { method, headers: { "X-Loggia": "1" }, data });
  if (!response.ok()) throw new Error(`${method} ${path} was answered ${response.status()} ${await response.text()}`);
}

test("a class created or renamed elsewhere is shown by its name, and no row moves", async (t) => {
  await pages.post([{ text: "before the class", source: "elsewhere", tags: ["made-elsewhere"] }]);
  const query = encodeURIComponent("GET events WHERE source = 'elsewhere'");
  const { page, context } = await pages.open(t, { address: `#/${LOG}?q=${query}&order=old&live=1` });
  const before = page.locator("#list .row", { hasText: "before the class" });
  await before.waitFor();
  const top = (await before.boundingBox())!.y;
  await putClass(context, "made-elsewhere", "Made elsewhere");
  await pages.post([{ text: "behind the class", source: "elsewhere", tags: ["made-elsewhere"] }]);
  const behind = page.locator("#list .row", { hasText: "behind the class" });
  await behind.waitFor();
  await behind.locator(".k", { hasText: /^Made elsewhere$/ }).waitFor();
  t.is((await before.boundingBox())!.y, top);
  const mark = await behind.evaluate((row) => getComputedStyle(row).getPropertyValue("--mark"));
  t.regex(mark, /#|rgb|light-dark/);

  await putClass(context, "made-elsewhere", "Renamed elsewhere", "PUT");
  await until(
    async () => {
      await page.evaluate(() => window.dispatchEvent(new Event("focus")));
      return (await behind.locator(".k").textContent()) === "Renamed elsewhere";
    },
    { what: "the new name, once the reader is back" },
  );
  t.is((await before.boundingBox())!.y, top);
});

test("the preview of a class shows its events over time, and those that a class of more weight keeps", async (t) => {
  await putClass((await pages.open(t)).context, "heavier", "Heavier class");
  const now = Date.now();
  const event = (hours: number, tags: readonly string[]) => ({
    text: "fits the class to be",
    source: "previewed",
    tags,
    created: now - hours * 3_600_000,
  });
  await pages.post([event(20, []), event(20, []), event(3, ["heavier"]), event(3, []), event(30, [])]);
  const { page } = await pages.open(t, { address: `#/${LOG}/classes/~new` });
  await page.getByLabel("Name").fill("To be");
  await page.getByLabel("Weight").fill("1");
  await page.getByLabel("Source is").fill("previewed");
  await page.getByText("4 events fit").waitFor();
  const preview = page.getByRole("region", { name: "4 events fit" });
  const bars = preview.locator(".hist [role=option]");
  await bars.first().waitFor({ state: "attached" });
  const names = await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute("aria-label") ?? ""));
  t.true(names.length >= 96 && names.length <= 98, String(names.length));
  t.deepEqual(
    names.flatMap((name) => (name.endsWith(": 0 events") ? [] : name.replace(/^.*?: (?=\d+ event)/, ""))),
    ["2 events, 2 To be", "2 events, 1 Heavier class, 1 To be"],
  );
  const fillOf = (cls: string) =>
    preview
      .locator(`.plot [data-class="${cls}"]`)
      .first()
      .evaluate((bar) => getComputedStyle(bar).fill);
  await page.getByLabel("Colour", { exact: true }).fill("teal");
  await until(async () => (await fillOf("~edited")) !== (await fillOf("heavier")), { what: "colours of their own" });
  await assertAccessible(t, page, "a class with its preview");
  const before = page.url();
  await preview.locator(".plot").click();
  t.is(page.url(), before);
});
