import test from "ava";
import type { ExecutionContext } from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const END_OF_MEASURED = Date.UTC(2026, 5, 1);

type Change = {
  readonly name: string;
  readonly zone: string;
  readonly from: number;
  readonly to: number;
  /** The start of each bar, in order. */
  readonly starts: readonly string[];
};

function quarters(...hours: readonly string[]): string[] {
  return hours.flatMap((hour) => ["00", "30"].map((minute) => `${hour}:${minute}`));
}

/** Ranges of more than thirty hours with half-hour bars, and the bars around the clock change. */
const CHANGES: readonly Change[] = [
  {
    name: "an hour that Berlin's clock shows twice",
    zone: "Europe/Berlin",
    from: Date.UTC(2026, 9, 24, 22),
    to: Date.UTC(2026, 9, 26, 8),
    starts: [...quarters("01", "02"), "02:00 +01:00", "02:30 +01:00", ...quarters("03")],
  },
  {
    name: "an hour that Berlin's clock leaves out",
    zone: "Europe/Berlin",
    from: Date.UTC(2026, 2, 28, 23),
    to: Date.UTC(2026, 2, 30, 9),
    starts: quarters("01", "03", "04"),
  },
  {
    name: "half an hour that Lord Howe's clock shows twice",
    zone: "Australia/Lord_Howe",
    from: Date.UTC(2026, 3, 4, 13),
    to: Date.UTC(2026, 3, 6),
    starts: [...quarters("00", "01"), "01:30 +10:30", ...quarters("02")],
  },
  {
    name: "half an hour that Lord Howe's clock leaves out",
    zone: "Australia/Lord_Howe",
    from: Date.UTC(2026, 9, 3, 13, 30),
    to: Date.UTC(2026, 9, 5),
    starts: [...quarters("00", "01"), "02:30", ...quarters("03")],
  },
];

/** Posts events some minutes apart, so that neighbouring bars have different counts. */
async function postEvents(source: string, { from, to }: { readonly from: number; readonly to: number }) {
  const events: { text: string; source: string; created: number }[] = [];
  for (let created = from - HOUR_MS, i = 0; created < to + HOUR_MS; created += (3 + (i % 9)) * MINUTE_MS, i++)
    events.push({ text: `event ${i}`, source, created });
  await pages.post(events);
  return events;
}

const addressOf = (source: string, range: string, more = "") =>
  `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}&${range}${more}`;

type Bar = { readonly name: string; readonly count: number };

/** Returns the accessible name of each bar. */
async function barsOf(page: Page): Promise<Bar[]> {
  const bars = page.locator(".hist [role=option]");
  // A bar without events is not visible.
  await bars.first().waitFor({ state: "attached" });
  const names = await bars.evaluateAll((all) => all.map((each) => each.getAttribute("aria-label") ?? ""));
  return names.map((name) => ({ name, count: Number(/: ([\d,]+) events?/.exec(name)?.[1]?.replace(",", "")) }));
}

/**
 * Presses a bar, waits until the heading and the list show as many events as the bar, and returns
 * the count in the heading and the number of rows.
 */
async function countsBehind(page: Page, index: number, bars: readonly Bar[]) {
  const box = (await page.locator(".hist .plot").boundingBox())!;
  const before = page.url();
  await page.mouse.click(box.x + ((index + 0.5) / bars.length) * box.width, box.y + box.height / 3);
  await page.waitForURL(({ href }) => href !== before);
  // The heading may still be that of the wider range.
  await page.locator("#found", { hasText: new RegExp(`^${bars[index]!.count} events?$`) }).waitFor();
  const found = Number.parseInt((await page.locator("#found").textContent())!, 10);
  const rows = page.locator("#list .row:not(.head)");
  // The previous rows stay until the next ones are shown.
  await until(async () => (await rows.count()) === found, { what: `the ${found} rows behind a bar` });
  return { found, rows: await rows.count() };
}

async function assertBars(t: ExecutionContext, change: Change): Promise<void> {
  const source = `bars-${change.from}`;
  const events = await postEvents(source, change);
  const address = addressOf(source, `from=${change.from}&to=${change.to}`, `&tz=${change.zone}`);
  const { page } = await pages.open(t, { address });
  const bars = await barsOf(page);
  const expected = events.filter(({ created }) => change.from <= created && created < change.to).length;
  t.is(
    bars.reduce((sum, { count }) => sum + count, 0),
    expected,
  );
  const begins = bars.map(({ name }) => /^\d+ \w+ (\d\d:\d\d(?: [+-]\d\d:\d\d)?) to /.exec(name)?.[1] ?? name);
  const first = begins.indexOf(change.starts[0]!);
  t.deepEqual(begins.slice(first, first + change.starts.length), [...change.starts]);
  await assertAccessible(t, page, change.name);
  for (let index = first; index < first + change.starts.length; index++) {
    await countsBehind(page, index, bars);
    await page.goBack();
    await page.locator("#found", { hasText: new RegExp(`^${expected} events$`) }).waitFor();
    await page.waitForFunction((many) => document.querySelectorAll(".hist [role=option]").length === many, bars.length);
  }
}

for (const change of CHANGES) {
  test(`the count of each bar is that of the list behind it: ${change.name}`, async (t) => {
    await assertBars(t, change);
  });
}

test("a repeated hour has two bars of an hour, each with its own events", async (t) => {
  const from = Date.UTC(2026, 9, 22, 22);
  const to = Date.UTC(2026, 9, 27, 5);
  const at = (hour: number) => ({ text: `at ${hour}`, source: "bars-hours", created: Date.UTC(2026, 9, 25, hour, 10) });
  await pages.post([at(0), at(0), at(0), at(1), at(2), at(2)]);
  const { page } = await pages.open(t, {
    address: addressOf("bars-hours", `from=${from}&to=${to}`, "&tz=Europe/Berlin"),
  });
  const bars = (await barsOf(page)).filter(({ count }) => count > 0).map(({ name }) => name);
  t.deepEqual(bars, [
    "25 Oct 02:00 to 02:00 +01:00: 3 events",
    "25 Oct 02:00 +01:00 to 03:00: 1 event",
    "25 Oct 03:00 to 04:00: 2 events",
  ]);
});

test("bars of a short range are seconds and lead to their events", async (t) => {
  const from = Date.UTC(2026, 9, 20, 14, 3);
  const seconds = [0, 1, 14, 15, 16, 29, 31, 200, 299];
  await pages.post(
    seconds.map((second) => ({ text: `at ${second}`, source: "bars-seconds", created: from + second * 1000 + 7 })),
  );
  const address = addressOf("bars-seconds", `from=${from}&to=${from + 5 * MINUTE_MS}`, "&tz=UTC");
  const { page } = await pages.open(t, { address });
  const bars = await barsOf(page);
  t.is(bars.length, 60);
  t.is(bars[3]!.name, "20 Oct 14:03:15 to 14:03:20: 2 events");
  await page.getByText("5-second bars").waitFor();
  const labels = await page.locator(".hist .plot text:not(.yl)").allTextContents();
  t.deepEqual(labels, ["14:03", "14:04", "14:05", "14:06", "14:07"]);
  await assertAccessible(t, page, "bars of seconds");
  t.deepEqual(await countsBehind(page, 3, bars), { found: 2, rows: 2 });
  // A bar of seconds can be narrowed further, down to one second. The list may be ready before the
  // bars.
  await page.waitForFunction(() => document.querySelectorAll(".hist [role=option]").length === 5);
  const narrowed = await barsOf(page);
  t.deepEqual(
    narrowed.map(({ count }) => count),
    [1, 1, 0, 0, 0],
  );
});

test("all events are shown from the log's first one on", async (t) => {
  const day = (days: number) => Date.now() - days * DAY_MS;
  const old = Date.UTC(2024, 1, 3, 12);
  await pages.post([
    { text: "the first of all", source: "bars-all", created: old },
    { text: "a later one", source: "bars-all", created: day(100) },
    { text: "one of today", source: "bars-all" },
  ]);
  const { page } = await pages.open(t, { address: addressOf("bars-all", "from=-1h") });
  await page.getByText("1 event", { exact: true }).waitFor();
  await page.getByRole("button", { name: /^Range/ }).click();
  await page.getByRole("dialog", { name: "Range" }).getByRole("option", { name: "All events" }).click();
  await page.getByText("3 events", { exact: true }).waitFor();
  await page.getByText("1-month bars").waitFor();
  const bars = await barsOf(page);
  t.true(bars.length >= 20 && bars.length <= 121, String(bars.length));
  t.is(bars[0]!.count, 1);
  t.regex(bars[0]!.name, /^\d+ \w+ 2024 to 1 Mar 2024: 1 event/);
  t.is(
    bars.reduce((sum, { count }) => sum + count, 0),
    3,
  );
  t.regex((await page.locator(".found .note").textContent())!, /^until /);
  await assertAccessible(t, page, "bars of all events");
  t.deepEqual(await countsBehind(page, 0, bars), { found: 1, rows: 1 });
});

test("a range in the query applies to the heading, the bars and the fields", async (t) => {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const moments = [today - 36 * HOUR_MS, today - 20 * HOUR_MS, today - 10 * HOUR_MS, today - HOUR_MS, today];
  await pages.post(moments.map((created, i) => ({ text: `in a query's range ${i}`, source: "bars-own", created })));
  const query = "GET events WHERE source = 'bars-own' OCCURS(TODAY-DAYS(1), TODAY)";
  const address = `#/${LOG}?q=${encodeURIComponent(query)}&from=-15m&tz=UTC`;
  const { page } = await pages.open(t, { address });
  await page.getByRole("heading", { level: 1, name: "3 events", exact: true }).waitFor();
  const bars = await barsOf(page);
  t.is(
    bars.reduce((sum, { count }) => sum + count, 0),
    3,
  );
  const short = (ms: number) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short" }).format(ms);
  const note = (await page.locator(".found .note").textContent())!;
  t.true(note.startsWith(`${short(today - DAY_MS)} 00:00 to ${short(today)} 00:00`), note);
  await page.locator("#list .slot").nth(2).waitFor();
  await page.locator("aside.side").getByText("bars-own").first().waitFor();
});

test("a bar narrows the range in the query, by press, drag, key and table, and back undoes it", async (t) => {
  const from = Date.UTC(2026, 9, 21, 8);
  const minutes = [3, 7, 7.5, 22, 41, 58];
  await pages.post(
    minutes.map((minute) => ({ text: `at ${minute}`, source: "bars-occurs", created: from + minute * MINUTE_MS })),
  );
  const query = "GET events WHERE source = 'bars-occurs' OCCURS('2026-10-21T08:00Z', '2026-10-21T09:00Z') TAKE 100";
  const address = `#/${LOG}?q=${encodeURIComponent(query)}&from=-15m&tz=UTC`;
  const { page } = await pages.open(t, { address });
  const headed = (count: string) => page.getByRole("heading", { level: 1, name: count, exact: true });
  const field = page.getByRole("textbox", { name: /Query/ });
  const back = async () => {
    await page.goBack();
    await headed("6 events").waitFor();
    t.is(await field.inputValue(), query);
  };
  const bar = page.locator(".hist [role=option][aria-label*='08:59:30 to 09:00']");
  await headed("6 events").waitFor();
  const bars = await barsOf(page);
  t.is(bars.length, 120);
  // The bar of 08:07:00 to 08:07:30.
  t.deepEqual(await countsBehind(page, 14, bars), { found: 1, rows: 1 });
  t.is(
    await field.inputValue(),
    "GET events WHERE source = 'bars-occurs' OCCURS('2026-10-21T08:07Z', '2026-10-21T08:07:30Z') TAKE 100",
  );
  await page.getByRole("button", { name: "In the query" }).waitFor();
  await back();
  await bar.waitFor({ state: "attached" });
  const box = (await page.locator(".hist .plot").boundingBox())!;
  const placeOf = (index: number) => box.x + ((index + 0.5) / bars.length) * box.width;
  await page.mouse.move(placeOf(0), box.y + 20);
  await page.mouse.down();
  await page.mouse.move(placeOf(59), box.y + 20, { steps: 4 });
  await page.mouse.up();
  await headed("4 events").waitFor();
  t.is(await page.evaluate(() => String(getSelection())), "");
  await back();
  await bar.waitFor({ state: "attached" });
  await page.locator(".hist [role=listbox]").focus();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Home");
  for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await headed("1 event").waitFor();
  await back();
  await bar.waitFor({ state: "attached" });
  await page.locator(".hist").getByRole("button", { name: "Table" }).click();
  await page
    .locator(".column-table")
    .getByRole("button", { name: /08:22 to 08:22:30/ })
    .click();
  await headed("1 event").waitFor();
  await back();
});

test("a group of time narrows the range in the query too", async (t) => {
  const from = Date.UTC(2026, 9, 22, 8);
  await pages.post(
    [5, 65, 70].map((minute) => ({
      text: `at ${minute}`,
      source: "groups-occurs",
      created: from + minute * MINUTE_MS,
    })),
  );
  const query =
    "GET events WHERE source = 'groups-occurs' OCCURS('2026-10-22T08:00Z', '2026-10-22T10:00Z') GROUPBY HOUR";
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${encodeURIComponent(query)}&tz=UTC` });
  await page.getByRole("row", { name: /09:00/ }).getByRole("button", { name: "Events" }).click();
  await page.getByRole("heading", { level: 1, name: "2 events", exact: true }).waitFor();
  await page.locator("#list .slot").nth(1).waitFor();
  t.pass();
});

test("the table of the bars has the counts of each class, and 0 for an empty bar", async (t) => {
  const { page, context } = await pages.open(t, { signedIn: true });
  const made = await context.request.post(`/manage/1/logs/${LOG}/classFilters`, {
    data: { key: "counted", display: "Counted", color: "orange", weight: 9, tag: "counted" },
    headers: { "X-Loggia": "1" },
  });
  t.true(made.ok(), await made.text());
  const from = Date.UTC(2026, 10, 20, 12);
  const event = (minute: number, tags: string[]) => ({
    text: `at ${minute}`,
    source: "classed-bars",
    created: from + minute * MINUTE_MS,
    tags,
  });
  await pages.post([event(1, ["counted"]), event(1.01, ["counted"]), event(1.02, [])]);
  await page.goto(`/${addressOf("classed-bars", `from=${from}&to=${from + HOUR_MS}`, "&tz=UTC")}`);
  await page.reload();
  const box = (await page.locator(".hist .plot").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator(".hist .tip dt", { hasText: /^Events$/ }).waitFor();
  await page.locator(".hist").getByRole("button", { name: "Table" }).click();
  const table = page.locator(".column-table");
  await table.getByRole("columnheader", { name: "Counted" }).waitFor();
  t.deepEqual(await table.locator("thead th").allInnerTexts(), ["Time", "Count", "Counted", "No class"]);
  const full = table.locator("tbody tr", { has: page.locator("td:nth-child(2):text-is('3')") });
  t.deepEqual(await full.locator(".num").allInnerTexts(), ["3", "2", "1"]);
});

test("h leads to the newest bar, or to that of the current event", async (t) => {
  const from = Date.UTC(2026, 10, 3);
  const hours = [2, 7, 20];
  await pages.post(
    hours.map((hour) => ({ text: `at ${hour}`, source: "bars-begin", created: from + hour * HOUR_MS + MINUTE_MS })),
  );
  const { page } = await pages.open(t, {
    address: addressOf("bars-begin", `from=${from}&to=${from + 24 * HOUR_MS}`, "&tz=UTC"),
  });
  const bars = await barsOf(page);
  const list = page.locator(".hist [role=listbox]");
  const activeBar = () =>
    list.evaluate((box) => document.getElementById(box.getAttribute("aria-activedescendant") ?? "")?.ariaLabel ?? "");
  await page.keyboard.press("h");
  await until(async () => (await activeBar()) === bars.at(-1)!.name, { what: "the newest bar" });
  // Arrow keys continue from there.
  await page.keyboard.press("ArrowLeft");
  await until(async () => (await activeBar()) === bars.at(-2)!.name, { what: "the one before" });
  const rows = page.locator("#list .slot > .row");
  await rows.filter({ hasText: "at 7" }).focus();
  await page.keyboard.press("h");
  await until(async () => /^3 Nov 07:00 to .*: 1 event$/.test(await activeBar()), { what: "the bar of the row" });
  await rows.filter({ hasText: "at 2" }).filter({ hasNotText: "at 20" }).click();
  await page.locator("#list .open").waitFor();
  await page.locator("#found").click();
  await page.keyboard.press("h");
  await until(async () => /^3 Nov 02:00 to .*: 1 event$/.test(await activeBar()), {
    what: "the bar of the open event",
  });
  t.is(await list.evaluate((box) => document.activeElement === box), true);
});

test("other measures are requested once, when their menu opens", async (t) => {
  const range = `from=${END_OF_MEASURED - HOUR_MS}&to=${END_OF_MEASURED}`;
  await pages.post([
    {
      text: "took long",
      source: "measures",
      created: END_OF_MEASURED - MINUTE_MS,
      attributes: { took: 12, host: "a" },
    },
  ]);
  const { page, context } = await pages.open(t);
  const asked: string[] = [];
  context.on("request", (request) => {
    if (/\/fields\?prefix=%40/.test(request.url())) asked.push(request.url());
  });
  await page.goto(`/${addressOf("measures", range)}`);
  await page.reload();
  await barsOf(page);
  t.deepEqual(asked, []);
  const button = page.getByRole("button", { name: "Measure: Count", exact: true });
  await button.click();
  await page.getByRole("menuitemradio", { name: "Average of @took", exact: true }).waitFor();
  t.is(await page.getByRole("menuitemradio", { name: /@host/ }).count(), 0);
  await page.keyboard.press("Escape");
  await button.click();
  await page.getByRole("menuitemradio", { name: "Average of @took", exact: true }).click();
  await page.getByRole("button", { name: "Measure: Average of @took" }).waitFor();
  t.is(asked.length, 1);
});
