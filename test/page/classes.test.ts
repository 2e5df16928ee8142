import test from "ava";
import type { BrowserContext } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

/** Makes or changes a class by the API, as another tab does. */
async function putClass(context: BrowserContext, key: string, display: string, method = "POST"): Promise<void> {
  const path = `/manage/1/logs/${LOG}/classFilters${method === "POST" ? "" : `/${key}`}`;
  const data = { key, display, color: "crimson", weight: 5, tag: key };
  const response = await context.request.fetch(path, { method, headers: { "X-Loggia": "1" }, data });
  if (!response.ok()) throw new Error(`${method} ${path} was answered ${response.status()} ${await response.text()}`);
}

test("a class that is made or renamed elsewhere is shown by its name, and no row moves", async (t) => {
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
