import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const PLACES = [
  ["52.52,13.405", 5],
  ["48.8566,2.3522", 3],
  ["-18.14,178.44", 2],
] as const;

/** Posts the events of these tests, once for all of them. */
let posting: Promise<unknown> | null = null;
const post = () =>
  (posting ??= pages.post([
    ...PLACES.flatMap(([geo, count], place) =>
      Array.from({ length: count }, (_, i) => ({ text: `place ${place}, ${i}`, source: "map", geo, value: place })),
    ),
    { text: "no place at all", source: "map" },
    { text: "an address", source: "map", geo: "ip:203.0.113.9" },
    { text: "Suva", source: "map-pacific", geo: "-18.14,178.44" },
    { text: "Apia", source: "map-pacific", geo: "-13.83,-171.77" },
    ...Array.from({ length: 3000 }, (_, i) => ({
      text: `many ${i}`,
      source: "map-many",
      geo: `${(i % 140) - 70}.5,${((i * 7) % 359) - 179}.${i % 97}`,
    })),
  ]));

const addressOf = (query: string) => `#/${LOG}?q=${encodeURIComponent(query)}`;
const QUERY = "GET events WHERE source = 'map' GROUPBY geo COLUMNS(KEY, COUNT)";

const listOf = (page: Page) => page.getByRole("listbox", { name: /count by geo/ });
const queryOf = (page: Page) => page.getByRole("textbox", { name: /Query/ }).inputValue();

test("groups of places are circles on a map, which keys move between and open", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: addressOf(QUERY) });
  await page.getByText("12 events in 4 groups").waitFor();
  const options = listOf(page).getByRole("option");
  await options.first().waitFor();
  t.deepEqual(await options.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label"))), [
    "52.52, 13.405: 5 events",
    "48.8566, 2.3522: 3 events",
    "-18.14, 178.44: 2 events",
  ]);
  await page.getByText("Not on the map: 2 events without a place.").waitFor();
  const areas = await options.evaluateAll((all) => all.map((each) => Number(each.getAttribute("r")) ** 2));
  t.true(Math.abs(areas[0]! / areas[1]! - 5 / 3) < 0.05, String(areas));
  await assertAccessible(t, page, "a map");
  await listOf(page).focus();
  await page.locator(".tip", { hasText: "52.52, 13.405: 5 events" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator(".tip", { hasText: "48.8566, 2.3522: 3 events" }).waitFor();
  const active = await listOf(page).getAttribute("aria-activedescendant");
  t.is(await page.locator(`#${active}`).getAttribute("aria-label"), "48.8566, 2.3522: 3 events");
  // The table shows the same.
  await page.locator("tr.at", { hasText: "48.8566, 2.3522" }).waitFor();
  await assertAccessible(t, page, "a map with the keys on it");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.getByText("2 events", { exact: true }).waitFor();
  t.is(await queryOf(page), "GET events WHERE source = 'map' AND geo WITHIN (-18.14, 178.44, -18.14, 178.44)");
  await page.goBack();
  await page.getByText("12 events in 4 groups").waitFor();
});

test("pressing a circle opens its events, and the row without a place opens all others", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: addressOf(QUERY) });
  const circle = page.getByRole("option", { name: "48.8566, 2.3522: 3 events" });
  await circle.hover();
  await page.locator(".tip", { hasText: "48.8566, 2.3522: 3 events" }).waitFor();
  await circle.click();
  await page.getByText("3 events", { exact: true }).waitFor();
  await page.goBack();
  await page.getByText("12 events in 4 groups").waitFor();
  await page.getByRole("row", { name: /^none/ }).getByRole("button", { name: "Events" }).click();
  await page.getByText("2 events", { exact: true }).waitFor();
  await page.getByText("no place at all").waitFor();
  await page.getByText("an address").waitFor();
  t.is(await queryOf(page), "GET events WHERE source = 'map' AND geo NOT WITHIN (-90, -180, 90, 180)");
});

test("the map is loaded only where it is used, and the other charts work without it", async (t) => {
  await post();
  const { page, context } = await pages.open(t, { address: addressOf(QUERY.replace("geo", "source")) });
  const asked: string[] = [];
  context.on("request", (request) => asked.push(request.url()));
  await page.getByText("12 events in 1 group").waitFor();
  t.is(await page.getByRole("button", { name: "Map", exact: true }).count(), 0);
  t.false(asked.some((url) => url.includes("place-map")));
  await page.getByRole("textbox", { name: /Query/ }).fill(QUERY);
  await page.keyboard.press("Enter");
  await listOf(page).getByRole("option").first().waitFor();
  t.true(asked.some((url) => url.includes("place-map")));
  await page.getByRole("button", { name: "Bars", exact: true }).click();
  await page.getByRole("img", { name: /count by geo/ }).waitFor();
  t.is(await listOf(page).count(), 0);
});

test("places on both sides of 180 degrees are adjacent", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: addressOf("GET events WHERE source = 'map-pacific' GROUPBY geo") });
  const middle = async (name: RegExp) => {
    const box = (await page.getByRole("option", { name }).boundingBox())!;
    return box.x + box.width / 2;
  };
  const [suva, apia] = [await middle(/^-18.14/), await middle(/^-13.83/)];
  t.true(suva < apia, `${suva} ${apia}`);
  t.true(apia - suva < 700);
});

test("three thousand places are drawn at once, the largest as circles", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: addressOf("GET events WHERE source = 'map-many' GROUPBY geo") });
  await page.getByText(/Circles are the 1,000 largest of [23],\d+ places, dots are the others\./).waitFor();
  t.is(await page.getByRole("option").count(), 1000);
  // Moving to another place redraws what changed, within a few frames.
  const took = await page.evaluate(async () => {
    const list = document.querySelector<SVGElement>(".world [role=listbox]")!;
    list.focus();
    const start = performance.now();
    for (let i = 0; i < 10; i++) {
      list.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return performance.now() - start;
  });
  t.log(`ten steps took ${took.toFixed(0)} ms`);
  t.is(await listOf(page).getAttribute("aria-activedescendant"), "place-10");
});

test("at 360 px the map fits, and it is printed", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: addressOf(QUERY), viewport: { width: 360, height: 780 } });
  await listOf(page).getByRole("option").first().waitFor();
  t.is(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  const box = (await page.locator(".world").boundingBox())!;
  t.true(box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box));
  await assertAccessible(t, page, "a map on a small screen");
  await page.emulateMedia({ media: "print" });
  t.true(await page.locator(".world").isVisible());
  t.true(await page.getByRole("row", { name: /52\.52/ }).isVisible());
});
