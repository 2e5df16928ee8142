import test from "ava";
import type { BrowserContext, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };

/** Posts events of a class, and others with the same tag. */
async function postTwoKinds(context: BrowserContext, name: string): Promise<void> {
  const path = `/manage/1/logs/${LOG}/classFilters`;
  const made = await context.request.post(path, {
    headers: HEADERS,
    data: { key: name, display: `Class ${name}`, color: "teal", text: `noise of ${name}` },
  });
  if (!made.ok()) throw new Error(await made.text());
  const isClassified = async () => {
    const query = `GET events.${name} COLUMNS(COUNT)`;
    const answer = await context.request.get(`/1/logs/${LOG}/query`, { headers: HEADERS, params: { query } });
    return Number(((await answer.json()) as [{ count: string }])[0].count) > 0;
  };
  await until(
    async () => {
      await pages.post([
        { text: `noise of ${name}`, tags: [name] },
        { text: `voice of ${name}`, tags: [name] },
      ]);
      return isClassified();
    },
    { what: "an event of the class" },
  );
}

const addressOf = (name: string, more = "") =>
  `#/${LOG}?q=${encodeURIComponent(`GET events WHERE tags = '${name}'`)}${more}`;

async function textsOf(page: Page): Promise<ReadonlySet<string>> {
  return new Set(await page.locator("#list .slot > [aria-rowindex] .x").allTextContents());
}

test("a hidden class is left out of list, bars, facets and links, and shown on demand", async (t) => {
  const name = "hummed";
  const { page, context } = await pages.open(t);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await postTwoKinds(context, name);
  await page.goto(`/${addressOf(name)}`);
  await page.reload();
  await until(async () => (await textsOf(page)).size === 2, { what: "both kinds of events" });
  await page
    .locator("#list .k", { hasText: `Class ${name}` })
    .first()
    .waitFor();
  const head = page.locator("#found");
  const all = await head.textContent();
  await page.locator(`.plot [data-class="${name}"]`).first().waitFor();

  await page.goto(`/#/${LOG}/classes/${name}`);
  await page.getByLabel("Hide from lists").check();
  await page.getByRole("button", { name: "Save class" }).click();
  await page.getByText(`Class Class ${name} saved`).waitFor();
  await page.goto(`/${addressOf(name)}`);
  await page.getByText(new RegExp(`hidden: .*Class ${name}`)).waitFor();
  await until(async () => [...(await textsOf(page))].join() === `voice of ${name}`, { what: "the other events alone" });
  await until(async () => (await head.textContent()) !== all, { what: "the number of those" });
  await page.locator(".plot .b").first().waitFor();
  t.is(await page.locator(`.plot [data-class="${name}"]`).count(), 0);
  await assertAccessible(t, page, "a list without a hidden class");

  await page.getByRole("button", { name: "Copy link" }).first().click();
  await page.getByText("The link was copied").waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  t.regex(link, new RegExp(`hide=[^&]*${name}`));
  t.regex(link, /tz=Europe\/Berlin/);

  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForURL(/hide=(&|$)/);
  await until(async () => (await textsOf(page)).size === 2, { what: "both kinds again" });
  await page.goBack();
  await until(async () => (await textsOf(page)).size === 1, { what: "the step back" });
  await page.goForward();
  await until(async () => (await textsOf(page)).size === 2, { what: "the step forward" });

  const facet = page.locator(`.valrow:has([data-class="${name}"])`);
  await page.goBack();
  await facet.hover();
  await facet.getByRole("button", { name: "show" }).click();
  await until(async () => (await textsOf(page)).size === 2, { what: "a class that is no longer hidden" });
  await page.goto(link);
  await page.reload();
  await until(async () => (await textsOf(page)).size === 1, { what: "what the link showed" });
});

test("an option chosen elsewhere applies where the page is opened", async (t) => {
  const name = "distant";
  const { page, context } = await pages.open(t);
  await postTwoKinds(context, name);
  const path = `/manage/1/logs/${LOG}/classFilters/${name}/options`;
  const set = await context.request.put(path, {
    headers: HEADERS,
    data: { alert: false, notify: false, hide: true },
  });
  t.is(set.status(), 200);
  await page.goto(`/${addressOf(name)}`);
  await page.reload();
  await until(async () => [...(await textsOf(page))].join() === `voice of ${name}`, { what: "the other events alone" });
  await page.goto(`/${addressOf(name, `&hide=`)}`);
  await until(async () => (await textsOf(page)).size === 2, { what: "both kinds, by the address" });
});

// Before the others: together they would exceed an account's limit of concurrent queries.
test.serial("groups and patterns say which classes they leave out, and count them on demand", async (t) => {
  const name = "unsaid";
  const { page, context } = await pages.open(t);
  await postTwoKinds(context, name);
  const hidden = `&hide=${name}`;
  const grouped = `#/${LOG}?q=${encodeURIComponent(`GET events WHERE tags = '${name}' GROUPBY text`)}`;
  for (const [what, address, rows] of [
    ["groups", `${grouped}${hidden}`, ".groups .rowname"],
    ["patterns", addressOf(name, `${hidden}&view=patterns`), ".groups .pat"],
  ] as const) {
    await page.goto(`/${address}`);
    await page.locator(rows, { hasText: `voice of ${name}` }).waitFor();
    t.is(await page.locator(rows).count(), 1, what);
    await page.getByText(`1 class hidden: Class ${name}`).waitFor();
    await assertAccessible(t, page, `${what} without a hidden class`);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.locator(rows, { hasText: `noise of ${name}` }).waitFor();
    t.is(await page.locator(rows).count(), 2, what);
  }
});
