import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

/** Reverses the following text: `gnp.exe` reads as `exe.png`. */
const OVERRIDE = "\u202e";
const CLASS = `Alarm ${OVERRIDE}mrala`;
const SHOWN_CLASS = /^Alarm \[U\+202E\]mrala$/;

/**
 * Asserts that nothing on the page hides the override: no text, label or title. Input fields are
 * left out.
 */
async function assertNothingHidden(page: Page, what: string): Promise<void> {
  const raw = await page.evaluate((character) => {
    const elements = [...document.querySelectorAll("body *:not(textarea, input)")];
    return elements.flatMap((element) => {
      const own = [...element.childNodes].filter(({ nodeType }) => nodeType === Node.TEXT_NODE);
      const texts = own.map(({ nodeValue }) => nodeValue ?? "");
      const names = ["aria-label", "title"].map((name) => element.getAttribute(name) ?? "");
      return [...texts, ...names].some((text) => text.includes(character)) ? [element.outerHTML.slice(0, 200)] : [];
    });
  }, OVERRIDE);
  if (raw.length > 0) throw new Error(`${what} hides a mark of direction:\n${raw.join("\n")}`);
}

test("marks of direction are visible in every text of a producer or an admin", async (t) => {
  const { page, context } = await pages.open(t, { address: `#/${LOG}/classes` });
  const made = await context.request.post(`/manage/1/logs/${LOG}/classFilters`, {
    data: { key: "alarm", display: CLASS, color: "orange", weight: 9, tag: "alarmed" },
    headers: { "X-Loggia": "1" },
  });
  t.true(made.ok(), await made.text());
  await pages.post([
    {
      text: `bidi ${OVERRIDE}gnp.exe`,
      source: `hidden ${OVERRIDE}ecruos`,
      tags: ["alarmed", `t${OVERRIDE}gat`],
      attributes: { [`name${OVERRIDE}eman`]: `value ${OVERRIDE}eulav` },
    },
    { text: "another", source: "hidden" },
  ]);
  await page.reload();
  await page.locator(".crow .n", { hasText: "Alarm" }).waitFor();
  await assertNothingHidden(page, "the classes");
  const screens = [
    { what: "patterns", query: "GET events", more: "&view=patterns", ready: ".pat" },
    { what: "groups by source", query: "GET events GROUPBY source", more: "", ready: ".groups .rowname" },
    { what: "groups by class", query: "GET events GROUPBY class", more: "", ready: ".groups .rowname" },
    { what: "lines", query: "GET events GROUPBY source, MINUTES(15)", more: "", ready: ".groups .rowname" },
    { what: "events", query: "GET events WHERE text CONTAINS 'bidi'", more: "", ready: "#list .row .x" },
  ];
  for (const { what, query, more, ready } of screens) {
    await page.goto(`/#/${LOG}?q=${encodeURIComponent(query)}${more}`);
    await page.locator(ready).first().waitFor();
    await page.locator(".facet .val").first().waitFor();
    await assertNothingHidden(page, what);
  }
  await page.locator(".facet .val[data-class=alarm]").waitFor();
  const slot = page.locator("#list .slot").first();
  await slot.locator("[aria-rowindex]").click();
  await slot.locator(".facts").waitFor();
  for (const value of await slot.locator(".facts .v").all()) {
    await value.click();
    // An open menu takes the focus.
    await page.locator("[role=menuitem]:focus").waitFor();
    await assertNothingHidden(page, "the menu of a value");
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
  }
  await assertAccessible(t, page, "names with marks of direction");
  await page.locator(".hist .plot").hover();
  await page.locator(".hist [role=option][aria-label*='Alarm']").waitFor({ state: "attached" });
  await assertNothingHidden(page, "the histogram");
  t.regex(await page.locator(".facet .val[data-class=alarm] .n").innerText(), SHOWN_CLASS);
});

for (const width of [1440, 360]) {
  test(`at ${width} px a long value leaves the numbers of its group visible`, async (t) => {
    const name = `w${width}`;
    const long = `${name}${"0123456789".repeat(19)}`;
    await pages.post([
      { text: "long", source: long, tags: [name] },
      { text: "short", source: "short", tags: [name] },
    ]);
    const query = `GET events WHERE tags = '${name}' GROUPBY source`;
    const { page } = await pages.open(t, {
      address: `#/${LOG}?q=${encodeURIComponent(query)}`,
      viewport: { width, height: 800 },
    });
    const cell = page.locator(".groups .rowname", { hasText: name });
    await cell.waitFor();
    t.is(await cell.getAttribute("title"), long);
    const count = (await cell.locator("+ .num").boundingBox())!;
    t.true(count.x + count.width <= width, `the count ends at ${count.x + count.width} px`);
    t.true(await cell.evaluate((element) => element.scrollWidth > element.clientWidth && element.clientHeight < 40));
  });
}
