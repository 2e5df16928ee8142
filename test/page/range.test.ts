import test from "ava";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

/** Returns the parameters of the search in the address. */
function addressOf(url: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(new URL(url).hash.split("?")[1] ?? ""));
}

test("a range is chosen by its name with keys alone, and back returns to the previous one", async (t) => {
  await pages.post([{ text: "something in the range" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  await page.locator("#list").waitFor();
  await page.keyboard.press("t");
  const picker = page.getByRole("dialog", { name: "Range" });
  await picker.getByRole("listbox", { name: "Presets" }).waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Presets");
  await assertAccessible(t, page, "the range picker");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Range: Last hour, Europe/Berlin" }).waitFor();
  t.is(await picker.count(), 0);
  t.deepEqual(addressOf(page.url()), { t: "1h" });
  await page.goBack();
  await page.getByRole("button", { name: "Range: Last 24 hours, Europe/Berlin" }).waitFor();
});

test("ends are typed in common formats, in a time zone by name, and are in the address", async (t) => {
  await pages.post([{ text: "something in the range" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  await page.locator("#list").waitFor();
  await page.getByRole("button", { name: /^Range/ }).click();
  const picker = page.getByRole("dialog", { name: "Range" });
  const from = picker.getByLabel("From");
  await from.fill("soon");
  await picker.getByLabel("To", { exact: true }).fill("25 Oct 2026 04:00");
  await from.press("Enter");
  t.is(await from.getAttribute("aria-invalid"), "true");
  await assertAccessible(t, page, "an end that cannot be read");
  await from.fill("25 Oct 2026");
  await picker.getByText("Sun 25 Oct 2026, 00:00:00 +02:00").waitFor();
  // The clock is set back in between.
  await picker.getByText("5 hours, in 3-min bars").waitFor();
  const zone = picker.getByRole("combobox", { name: "Zone" });
  await zone.fill("kathm");
  await zone.press("ArrowDown");
  await zone.press("Enter");
  t.is(await zone.inputValue(), "Asia/Kathmandu");
  await picker.getByText("Sun 25 Oct 2026, 00:00:00 +05:45").waitFor();
  await picker.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("button", { name: "Range: 25 Oct 00:00 to 25 Oct 04:00, Asia/Kathmandu" }).waitFor();
  const midnight = Date.UTC(2026, 9, 24, 18, 15);
  t.deepEqual(addressOf(page.url()), {
    from: String(midnight),
    to: String(midnight + 4 * 3_600_000),
    tz: "Asia/Kathmandu",
  });
  // Another visit shows the same, and this browser offers it again.
  await page.reload();
  await page.getByRole("button", { name: "Range: 25 Oct 00:00 to 25 Oct 04:00, Asia/Kathmandu" }).click();
  await picker.getByRole("option", { name: "25 Oct 00:00 to 25 Oct 04:00" }).waitFor();
});

test("days are chosen in the calendar, by keys too", async (t) => {
  const { page } = await pages.open(t, { address: `#/${LOG}?from=1792879200000&to=1792882800000` });
  await page.locator("#list").waitFor();
  await page.getByRole("button", { name: /^Range/ }).click();
  const picker = page.getByRole("dialog", { name: "Range" });
  await picker.getByText("October 2026").waitFor();
  await picker.getByRole("button", { name: "24 October 2026" }).click();
  // The focus follows in the next frame.
  await picker.locator(":focus[aria-label='24 October 2026']").waitFor();
  await page.keyboard.press("ArrowRight");
  await picker.locator(":focus[aria-label='25 October 2026']").waitFor();
  await page.keyboard.press("Enter");
  await picker.locator("[aria-label='25 October 2026'][aria-pressed=true]").waitFor();
  t.is(await picker.getByLabel("From").inputValue(), "24 Oct 2026, 00:00");
  t.is(await picker.getByLabel("To", { exact: true }).inputValue(), "26 Oct 2026, 00:00");
  t.is(await picker.locator(".cal [aria-pressed=true]").count(), 2);
  await picker.getByRole("button", { name: "Next month" }).click();
  await picker.getByText("November 2026").waitFor();
});

test("a range in the query takes precedence, and the button leads to it", async (t) => {
  const query = "GET events OCCURS(TODAY) // all day";
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent(query)}` });
  await page.locator("#list").waitFor();
  await page.getByRole("button", { name: "In the query" }).click();
  const selected = await page.evaluate(() => document.getSelection()?.toString());
  t.is(selected, "OCCURS(TODAY)");
});

test("at 360 px the picker fits", async (t) => {
  await pages.post([{ text: "something in the range" }]);
  const { page } = await pages.open(t, { address: `#/${LOG}`, viewport: { width: 360, height: 780 } });
  await page.locator("#list").waitFor();
  await page.getByRole("button", { name: /^Range/ }).click();
  const picker = page.getByRole("dialog", { name: "Range" });
  await picker.getByRole("button", { name: "Apply" }).scrollIntoViewIfNeeded();
  t.is(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  const box = (await picker.boundingBox())!;
  t.true(box.x >= 0 && box.x + box.width <= 360 && box.y + box.height <= 780, JSON.stringify(box));
  await assertAccessible(t, page, "the range picker on a small screen");
  await page.keyboard.press("Escape");
  t.is(await picker.count(), 0);
});
