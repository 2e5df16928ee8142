import test from "ava";
import { LOG } from "../support/service.ts";
import { sharePages } from "./support/pages.ts";
const pages = sharePages();
test("shots", async (t) => {
  await pages.post(Array.from({ length: 30 }, (_, i) => ({ text: `Payment ${i} declined: acquirer.example did not answer`, source: i % 2 ? "payments" : "checkout", tags: "card visa", attributes: { "http.status": 500 + (i % 3), "http.stage": "x", took: i } })));
  for (const colorScheme of ["light", "dark"] as const) for (const width of [1440, 360]) {
    const { page } = await pages.open(t, { address: `#/${LOG}`, colorScheme, viewport: { width, height: width === 360 ? 780 : 900 } });
    await page.locator("#list").waitFor();
    const query = page.getByRole("textbox", { name: "Query, LQL" });
    const shot = (name: string) => page.screenshot({ path: `/tmp/shots/${name}-${colorScheme}-${width}.png` });
    await query.fill("GET events WHERE source IN ('checkout', 'payments') AND NOT tag = 'healthcheck'");
    await shot("lql");
    await query.click(); await query.press("ControlOrMeta+a");
    await query.pressSequentially("GET events WHERE sorce = 'payments' AND @http.st");
    await page.getByText("number, 30 events").first().waitFor().catch(() => {});
    await query.press("ArrowDown");
    await shot("fault");
    await query.press("Escape");
    await query.press("ControlOrMeta+a");
    await query.pressSequentially("GET events WHERE source = 'payments' AND class IN ('error', 'slow') AND ");
    await query.press("Alt+ArrowDown"); await page.waitForTimeout(600);
    await shot("unfinished");
    if (width !== 360) {
    await query.fill("GET events WHERE source = 'payments' AND class IN ('error', 'slow') AND text CONTAINS 'acquirer'");
    await page.getByRole("button", { name: "Simple" }).click(); await page.waitForTimeout(400);
    await shot("simple");
    }
    await page.getByRole("button", { name: /^Range/ }).click(); await page.waitForTimeout(400);
    await shot("range");
  }
  t.pass();
});
