import test from "ava";

import { KEY, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const address = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;

/** Posts the events of these tests, once for all of them. */
let posting: Promise<unknown> | null = null;
const post = () =>
  (posting ??= pages.post([
    ...[1, 2, 3].map((number) => ({ text: `order ${number} placed`, source: "screens-shop", value: number })),
    { text: "stock of 7 is low", source: "screens-depot", attributes: { shelf: "A" } },
  ]));

test("a key is created, shown once, disabled and removed", async (t) => {
  const { page } = await pages.open(t, { address: `#/${LOG}/settings/keys` });
  await page.getByRole("button", { name: "Make key" }).click();
  const key = await page.getByLabel("New key", { exact: true }).and(page.locator("output")).textContent();
  t.true((key ?? "").length > 20);
  const row = page.locator("tr.at");
  await assertAccessible(t, page, "a key that was made");
  await row.getByRole("button", { name: "Turn off" }).click();
  await row.getByText("Off", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  t.is(await page.getByText(key ?? "").count(), 0);
  const made = page.locator("tr", { has: page.getByText("Off", { exact: true }) });
  t.is(await made.getByRole("button", { name: /^Remove \S+$/ }).count(), 1, "it says which key");
  await made.getByRole("button", { name: "Remove" }).click();
  await made.getByRole("button", { name: "Remove" }).click();
  await made.waitFor({ state: "detached" });
});

for (const part of ["general", "webhooks", "people", "queries", "reclassify"]) {
  test(`the settings of a log, ${part}, are accessible`, async (t) => {
    const { page } = await pages.open(t, { address: `#/${LOG}/settings/${part}` });
    await page.locator(".pane h1").waitFor();
    await assertAccessible(t, page, part);
  });
}

for (const part of ["preferences", "password", "sessions", "accounts", "logs", "health", "dead-letters", "backup"]) {
  test(`the settings of the account and the service, ${part}, are accessible`, async (t) => {
    const { page, problems } = await pages.open(t, { address: `#/you/${part}` });
    if (part === "health") problems.allowNotReady();
    await page.locator(".pane h1").waitFor();
    await page.locator(".pane .progress").waitFor({ state: "detached" });
    await assertAccessible(t, page, part);
  });
}

test("health shows how far the store is behind", async (t) => {
  await post();
  const { page, problems } = await pages.open(t, { address: "#/service/health" });
  problems.allowNotReady();
  await page.getByRole("row", { name: /^not in the store yet \d+ events?/ }).waitFor();
  await page.getByRole("row", { name: /^dead letters \d+$/ }).waitFor();
  // The checks are another response than the figures.
  const bus = page.getByRole("row", { name: /^bus Works/ });
  await bus.first().waitFor();
  t.is(await bus.count(), 1);
});

test("groups are a chart and a table, and each leads to its events", async (t) => {
  await post();
  const query = "GET events WHERE source CONTAINS 'screens-' GROUPBY source COLUMNS(KEY, COUNT)";
  const { page } = await pages.open(t, { address: address(query) });
  await page.getByText("4 events in 2 groups").waitFor();
  await assertAccessible(t, page, "groups");
  await page
    .getByRole("row", { name: /screens-depot/ })
    .getByRole("button", { name: "Events" })
    .click();
  await page.getByText("1 event", { exact: true }).waitFor();
  t.regex(await page.getByRole("textbox", { name: /Query/ }).inputValue(), /source = 'screens-depot'/);
  await page.goBack();
  await page.getByText("4 events in 2 groups").waitFor();
});

test("users known from visits are listed and lead to their events", async (t) => {
  await post();
  await pages.post([{ text: "carla came", user: "carla" }]);
  const { page, url } = await pages.open(t);
  const posted = await fetch(`${pages.service().postUrl}/1/logs/${LOG}/users`, {
    method: "POST",
    body: new URLSearchParams({ apikey: KEY, user: "carla", email: "carla@example.org" }),
  });
  t.true(posted.ok);
  const listed = page.getByRole("row", { name: /carla@example.org/ });
  await until(
    async () => {
      await page.goto(`${url}/${address("GET users WHERE user = 'carla'")}`);
      await page.reload();
      const heading = page.getByRole("heading", { level: 1, name: /^\d+ users?$/ });
      // The rows are painted after the heading.
      return (await heading.innerText()).startsWith("1 ");
    },
    { what: "the user" },
  );
  await listed.waitFor();
  await page.waitForFunction(() => document.title.startsWith("1 user, "));
  await assertAccessible(t, page, "users");
  await listed.getByRole("button", { name: "Events" }).click();
  await page.locator("#list").getByText("carla came").waitFor();
});

test("titles name the screen shown, and the query field is ready for input", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: address("GET events") });
  await page.waitForFunction(() => document.title.includes(" events, "));
  await page.keyboard.press("/");
  await page.keyboard.type("GET events TAKE 1");
  t.is(await page.getByRole("textbox", { name: /Query/ }).inputValue(), "GET events TAKE 1");
  await page.reload();
  await page.getByRole("button", { name: "Simple" }).click();
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Search for words");
  await page.goto(`/#/${LOG}/classes`);
  await page.waitForFunction((log) => document.title.endsWith(`Classes, ${log}, Loggia`), LOG);
  await page.goto(`/#/${LOG}/settings/keys`);
  await page.waitForFunction((log) => document.title.endsWith(`Keys, ${log}, Loggia`), LOG);
});

test("patterns summarize a result and narrow it", async (t) => {
  await post();
  const { page } = await pages.open(t, {
    address: address("GET events WHERE source = 'screens-shop'", "&view=patterns"),
  });
  const row = page.getByRole("row", { name: /order <n> placed/ });
  await row.waitFor();
  t.regex((await row.textContent()) ?? "", /^3/);
  await assertAccessible(t, page, "patterns");
  await row.hover();
  await row.getByRole("button", { name: "All but" }).click();
  await page.getByText("No events match, so there are no patterns.").waitFor();
});

test("a value of a field narrows the query by one press, and widens it by another", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: address("GET events WHERE source CONTAINS 'screens-'") });
  const value = page.getByRole("complementary", { name: "Fields" }).getByRole("button", { name: /screens-shop/ });
  await value.click();
  await page.getByText("3 events", { exact: true }).waitFor();
  await page.getByRole("button", { name: /screens-shop/, pressed: true }).click();
  await page.getByText("4 events", { exact: true }).waitFor();
  const query = await page.getByRole("textbox", { name: /Query/ }).inputValue();
  t.is(query, "GET events WHERE source CONTAINS 'screens-'");
});

test("a selected value outside the most frequent has its own count and no wrong one", async (t) => {
  const tags = ["one-of", ...Array.from({ length: 9 }, (_, i) => `many-of-${i}`)];
  await pages.post(
    tags.flatMap((tag) => Array.from({ length: tag === "one-of" ? 1 : 2 }, () => ({ text: "x", tags: tag }))),
  );
  const { page } = await pages.open(t, { address: address("GET events WHERE tag = 'one-of'") });
  await page.getByText("1 event", { exact: true }).waitFor();
  await page
    .getByRole("button", { name: /^many-of-/ })
    .first()
    .waitFor();
  const chosen = page.getByRole("button", { name: /^one-of/, pressed: true });
  await chosen.filter({ hasText: /\d/ }).waitFor();
  t.is((await chosen.textContent())?.trim(), "one-of1");
});

test("a list sorted by its query has no button for another order", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: address("GET events WHERE source = 'screens-shop'") });
  const byTime = page.locator(".row.head").getByRole("button", { name: /newest first/ });
  await byTime.waitFor();
  await page.goto(`/${address("GET events WHERE source = 'screens-shop' SORT value DESC")}`);
  await byTime.waitFor({ state: "detached" });
  await until(async () => (await page.locator("#list [aria-rowindex]").count()) === 4, { what: "the head and 3 rows" });
  t.pass();
});

test("a class is created beside the events that match it, with a colour", async (t) => {
  await post();
  const { page, problems } = await pages.open(t, { address: `#/${LOG}/classes/~new` });
  // The reader's options of the class may be requested just as it is removed.
  problems.allowStatus(404);
  await page.getByLabel("Name").fill("Low stock");
  await page.getByLabel("Source is").fill("screens-depot");
  await page.getByText("1 event fits").waitFor();
  await assertAccessible(t, page, "a new class");
  await page.getByRole("button", { name: "Save class" }).click();
  await page
    .getByRole("link", { name: /Low stock/ })
    .and(page.locator("[aria-current]"))
    .waitFor();
  t.true(page.url().endsWith("/classes/low-stock"));
  await page.getByRole("button", { name: "Remove class" }).click();
  await page.getByRole("button", { name: "Remove class" }).click();
  await page.getByRole("link", { name: /Low stock/ }).waitFor({ state: "detached" });
});

test("the list names classes as their log does, and groups by time alone are bars", async (t) => {
  const { page, context, url } = await pages.open(t);
  const made = await context.request.post(`${url}/manage/1/logs/${LOG}/classFilters`, {
    data: { key: "depot-news", display: "News of the depot", color: "teal", weight: 1, source: "named-by-log" },
    headers: { "X-Loggia": "1" },
  });
  t.is(made.status(), 201);
  await pages.post([{ text: "a van has come", source: "named-by-log" }]);
  await page.goto(`/${address("GET events WHERE source = 'named-by-log'")}`);
  await page.reload();
  await page.locator("#list").getByText("News of the depot", { exact: true }).waitFor();
  await page.goto(`/${address("GET events GROUPBY MINUTES(1)")}`);
  await page.getByRole("button", { name: "Bars", pressed: true }).waitFor();
  t.true(await page.getByRole("button", { name: "Lines" }).isDisabled());
  const row = page.locator("tbody .rowname").first();
  t.regex((await row.textContent()) ?? "", /^\d+ [A-Z][a-z]{2} \d\d:\d\d$/);
});

test("the first-run guide creates a key and sees an event arrive", async (t) => {
  await post();
  const { page } = await pages.open(t, { address: `#/${LOG}/start` });
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("New key").waitFor();
  const { postUrl } = pages.service();
  await page.locator(".codebox", { hasText: `curl ${postUrl}/1/logs/${LOG}/events` }).waitFor();
  t.is(await page.getByLabel("Events are posted to").inputValue(), postUrl);
  await page.locator(".step.done", { hasText: "See it arrive" }).waitFor();
  await assertAccessible(t, page, "the guide");
  const key = await page.getByLabel("New key").innerText();
  const shown = page.getByRole("tabpanel");
  await page.getByRole("tab", { name: "A log file" }).click();
  t.regex(await shown.innerText(), /^curl '[^']*\/lines\?source=app' .*--data-binary @app\.log/s);
  await page.getByRole("tab", { name: "OpenTelemetry" }).click();
  t.true((await shown.innerText()).includes(`OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${postUrl}/v1/logs`));
  t.true((await shown.innerText()).includes(`X-API-Key=${key}`));
  await page.keyboard.press("ArrowRight");
  await page.getByRole("tab", { name: "Elasticsearch", selected: true }).and(page.locator(":focus")).waitFor();
  await assertAccessible(t, page, "the configuration of a shipper");
});

test("a log without events opens with the guide, and a query in its address stays a search", async (t) => {
  const { page, context, url } = await pages.open(t);
  const made = await context.request.post(`${url}/1/logs`, {
    form: { key: "empty-log", display: "Empty log" },
    headers: { "X-Loggia": "1" },
  });
  t.is(made.status(), 201);
  await page.goto("/#/empty-log");
  await page.reload();
  await page.getByRole("heading", { name: "Send the first event to empty-log" }).waitFor();
  await page.goto("/#/empty-log?q=GET+events+TAKE+3");
  await page.getByRole("heading", { name: "0 events" }).waitFor();
  await assertAccessible(t, page, "a search of an empty log");
});
