import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";
import { quiet } from "./support/quiet.ts";

const pages = sharePages();
const SOURCES = ["north", "south", "west"];

let posting: Promise<unknown> | null = null;
const postEvents = () =>
  (posting ??= pages.post(
    SOURCES.flatMap((source, i) =>
      Array.from({ length: 3 - i }, (_, n) => ({ text: `${source} ${n}`, source: `facet-${source}`, tags: ["facet"] })),
    ),
  ));
test.beforeEach(postEvents);

const address = `#/${LOG}?q=${encodeURIComponent("GET events WHERE tags = 'facet'")}`;
const valueOf = (page: Page, name: string) => page.getByLabel("Fields").getByRole("button", { name: new RegExp(name) });
const queryOf = (page: Page) => page.getByRole("textbox", { name: /Query/ });

test.serial("a value is applied to the last query if the typed one is incomplete, and that is restored", async (t) => {
  const { page } = await pages.open(t, { address });
  await valueOf(page, "facet-south").first().waitFor();
  const unfinished = "GET events WHERE text CONTAINS 'half";
  await queryOf(page).fill(unfinished);
  await valueOf(page, "facet-south").first().click();
  await page.getByRole("heading", { level: 1, name: "2 events" }).waitFor();
  t.regex(await queryOf(page).inputValue(), /tags = 'facet'.*facet-south/);
  await page.getByText("what was typed has a fault").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  t.is(await queryOf(page).inputValue(), unfinished);
});

test.serial("a field is one stop of Tab, and arrow keys move among its values", async (t) => {
  const { page } = await pages.open(t, { address });
  const { keyboard } = page;
  await valueOf(page, "facet-west").first().waitFor();
  await quiet(page);
  const stops = await page
    .getByLabel("Fields")
    .locator(".facet:not([hidden])")
    .evaluateAll((facets) => facets.map((facet) => facet.querySelectorAll("button:not([tabindex='-1'])").length));
  t.true(stops.length >= 2);
  t.deepEqual(new Set(stops), new Set([1]));
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page
    .getByLabel("Fields")
    .getByRole("button", { name: /^source/ })
    .focus();
  await keyboard.press("ArrowDown");
  t.regex(await focused(), /facet-north/);
  await keyboard.press("ArrowDown");
  t.regex(await focused(), /facet-south/);
  await keyboard.press("ArrowRight");
  t.is(await focused(), "only");
  await keyboard.press("ArrowRight");
  t.is(await focused(), "not");
  await keyboard.press("Tab");
  t.notRegex(await focused(), /facet-/);
  await keyboard.press("Shift+Tab");
  t.regex(await focused(), /facet-south/);
  await keyboard.press("ArrowRight");
  await keyboard.press("ArrowRight");
  await keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "4 events" }).waitFor();
  await until(async () => /NOT|!=|<>/i.test(await queryOf(page).inputValue()), { what: "the source left out" });
});

const attributesOf = (name: string, count: number, value: (n: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, value(n)]));
const NUMBERS = { text: "rich", source: "rich", attributes: attributesOf("number", 60, (n) => n) };
const NAMES = ["name", "further"].map((name) => ({
  text: "rich",
  source: "rich",
  attributes: attributesOf(name, 120, (n) => `value ${n}`),
}));
/** The numbers are in most events, so they are listed first. */
const RICH = [NUMBERS, NUMBERS, ...NAMES];

test.serial("events with 60 numeric attributes and 300 names have fields, all found by name", async (t) => {
  await pages.post(RICH);
  const { page } = await pages.open(t, {
    address: `#/${LOG}?q=${encodeURIComponent("GET events WHERE source = 'rich'")}`,
  });
  const fields = page.getByLabel("Fields");
  await valueOf(page, "rich").first().waitFor();
  await fields.getByRole("button", { name: /^@number0/ }).waitFor();
  await fields.getByRole("button", { name: "Find a field" }).click();
  const find = fields.getByRole("textbox", { name: "Find a field" });
  for (const name of ["@number59", "@name119", "@further119"]) {
    await find.fill(name.toUpperCase());
    await fields.getByRole("button", { name: new RegExp(`^${name}`) }).waitFor();
  }
  await find.fill("@name");
  await fields.getByText("80 more fields have such a name.").waitFor();
  await find.fill("nothing like it");
  await fields.getByText("No field has “nothing like it” in its name.").waitFor();
  await find.fill("@further119");
  await fields.getByRole("button", { name: /^value 119/ }).click();
  await page.getByRole("heading", { level: 1, name: "1 event" }).waitFor();
  await find.press("Escape");
  await fields.getByRole("button", { name: /^@further119/ }).waitFor();
  t.is(await fields.getByRole("button", { name: /^@name/ }).count(), 0);
});

test.serial("fields whose statistics can't be read are named, and read on request", async (t) => {
  await pages.post(RICH);
  const { page, problems } = await pages.open(t, { signedIn: true, address: "#/inbox" });
  problems.allowStatus(400);
  const isOfNumbers = /\/query\?.*number40/;
  await page.route(isOfNumbers, (route) =>
    route.fulfill({ status: 400, json: { error: { status: 400, code: "bad_query", message: "Not today." } } }),
  );
  await page.goto(`/#/${LOG}?q=${encodeURIComponent("GET events WHERE source = 'rich'")}`);
  const fields = page.getByLabel("Fields");
  await fields.getByText(/^Not read: .*@number40.* Not today\./).waitFor();
  await valueOf(page, "rich").first().waitFor();
  await page.unroute(isOfNumbers);
  await fields.getByRole("button", { name: "Try again" }).click();
  await fields.getByText(/^Not read/).waitFor({ state: "detached" });
  t.true(await fields.getByRole("button", { name: /^@number40\b/ }).isVisible());
});
