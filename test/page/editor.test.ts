import test from "ava";
import type { ExecutionContext } from "ava";
import type { Locator, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

let posted: Promise<unknown> | null = null;

/** Opens the page and waits for the result. An empty log would show no list. */
async function opened(t: ExecutionContext, address: string): Promise<Page> {
  await (posted ??= pages.post([{ text: "paid", source: "payments" }]));
  const { page } = await pages.open(t, { address });
  await page.locator("#list").waitFor();
  return page;
}

function queryOf(page: Page): Locator {
  return page.getByRole("textbox", { name: "Query, LQL" });
}

/** Returns the underlined parts of the query. */
function underlined(page: Page): Promise<string[]> {
  return page.locator(".shade u").allTextContents();
}

test("a fault is underlined and explained beside the query, and its suggestion fixes it", async (t) => {
  const page = await opened(t, `#/${LOG}`);
  const query = queryOf(page);
  await query.click();
  await page.waitForFunction(() => document.querySelector(".complete, [aria-invalid=false]") !== null);
  await query.fill("GET events WHERE sorce = 'payments'");
  await page.getByText('Column 18: events have no field "sorce".').first().waitFor();
  t.deepEqual(await underlined(page), ["sorce"]);
  t.is(await query.getAttribute("aria-invalid"), "true");
  await assertAccessible(t, page, "a fault");
  // It is not run: the result of the previous query stays.
  await query.press("Enter");
  t.false(page.url().includes("sorce"));
  await page.getByRole("button", { name: "Use source" }).click();
  t.is(await query.inputValue(), "GET events WHERE source = 'payments'");
  t.deepEqual(await underlined(page), []);
  t.is(await query.getAttribute("aria-invalid"), "false");
  // Text typed by the suggestion is undone like typed text.
  await page.keyboard.press("ControlOrMeta+z");
  t.is(await query.inputValue(), "GET events WHERE sorce = 'payments'");
});

test("the fault shown is always that of the latest text", async (t) => {
  const page = await opened(t, `#/${LOG}`);
  const query = queryOf(page);
  await query.fill("GET events TAKE 1000");
  await page.locator(".shade u").waitFor();
  // The underline is updated at each key before the next frame is drawn.
  const late = await page.evaluate(async () => {
    const field = document.querySelector<HTMLTextAreaElement>("textarea.lql")!;
    const wrong: string[] = [];
    field.focus();
    for (const [text, fault] of [
      ["GET evnts", "evnts"],
      ["GET events WHERE value = 'x'", "'x'"],
      ["GET events", ""],
      ["GET events WHERE text MATCHES '(?=a)'", "(?=a)'"],
      ["GET events\nWHERE a = 1", "a"],
      ["GET events WHERE source = 'a'", ""],
    ] as const) {
      field.setSelectionRange(0, field.value.length);
      document.execCommand("insertText", false, text);
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      const shown = [...document.querySelectorAll(".shade u")].map((each) => each.textContent).join("");
      if (shown !== fault) wrong.push(`${text}: ${shown}`);
    }
    return wrong;
  });
  t.deepEqual(late, []);
});

test("completions are selected by keys, and an unselected one takes no Enter and moves no text", async (t) => {
  await pages.post([
    { text: "a", source: "payments", attributes: { "http.status": 500, "odd name": "x" } },
    { text: "b", source: "payments", attributes: { "http.status": 200 } },
    { text: "c", source: "catalog" },
  ]);
  const page = await opened(t, `#/${LOG}`);
  const query = queryOf(page);
  await query.click();
  await query.press("ControlOrMeta+a");
  await query.pressSequentially("GET events WH");
  const options = page.locator(".complete [role=option]");
  await options.filter({ hasText: "WHERE" }).waitFor();
  t.is(await query.inputValue(), "GET events WH");
  await query.press("Tab");
  t.is(await query.inputValue(), "GET events WHERE ");
  await query.pressSequentially("@http");
  await options.filter({ hasText: "number, 2 events" }).waitFor();
  await assertAccessible(t, page, "completions");
  await query.press("ArrowDown");
  t.is(await query.inputValue(), "GET events WHERE @http");
  const active = await query.getAttribute("aria-activedescendant");
  t.is(await page.locator(`[id="${active}"] code`).textContent(), "@http.status");
  await query.press("Enter");
  t.is(await query.inputValue(), "GET events WHERE @http.status ");
  await query.pressSequentially("= 500 AND source = 'pay");
  await options.filter({ hasText: "payments" }).waitFor();
  await query.press("ArrowDown");
  await query.press("Enter");
  t.is(await query.inputValue(), "GET events WHERE @http.status = 500 AND source = 'payments'");
  await query.press("Enter");
  await page.waitForURL(/payments/);
  await query.pressSequentially(" AND @");
  await options.filter({ hasText: "@'odd name'" }).waitFor();
  await query.press("Escape");
  t.is(await options.count(), 0);
  await query.press("Alt+ArrowDown");
  await options.first().waitFor();
  // Nothing is selected, so Enter runs the query, which has a fault now.
  await query.press("Enter");
  t.is(await query.inputValue(), "GET events WHERE @http.status = 500 AND source = 'payments' AND @");
});

test("the field works before its assistant has loaded, and keeps caret and text afterwards", async (t) => {
  const page = await opened(t, `#/${LOG}?q=GET+events`);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/assistant\./, async (route) => {
    await held;
    await route.continue();
  });
  const query = queryOf(page);
  await query.click();
  await query.press("End");
  await query.pressSequentially(" TAKE 999");
  for (let i = 0; i < 3; i++) await query.press("ArrowLeft");
  await query.press("Shift+Enter");
  t.deepEqual(await underlined(page), []);
  release();
  await page.locator(".shade u").waitFor();
  t.is(await query.inputValue(), "GET events TAKE \n999");
  t.is(await query.evaluate((field) => (field as HTMLTextAreaElement).selectionStart), "GET events TAKE \n".length);
  await page.keyboard.type("1 // ");
  t.is(await query.inputValue(), "GET events TAKE \n1 // 999");
});

test("simple mode shows a query as chips and a text, and writes it", async (t) => {
  await pages.post([
    { text: "acquirer is away", source: "simple-1" },
    { text: "acquirer is back", source: "simple-2" },
  ]);
  const page = await opened(t, `#/${LOG}?q=${encodeURIComponent("GET events WHERE source = 'simple-1'")}`);
  const list = page.locator("#list");
  await list.getByText("acquirer is away").waitFor();
  await page.getByRole("button", { name: "Simple", exact: true }).click();
  await page.getByRole("button", { name: "Remove source is simple-1" }).waitFor();
  t.true(page.url().includes("m=simple"));
  await assertAccessible(t, page, "simple mode");
  const box = page.getByRole("textbox", { name: "Search for words" });
  await box.fill("-source:simple-1 acquirer");
  await page.getByRole("button", { name: "Remove source is simple-1" }).click();
  await list.getByText("acquirer is back").waitFor();
  await page.getByRole("button", { name: "Remove source is not simple-1" }).waitFor();
  t.is(await box.inputValue(), "acquirer");
  await page.getByRole("button", { name: "LQL" }).click();
  t.is(await queryOf(page).inputValue(), "GET events WHERE text CONTAINS 'acquirer' AND source != 'simple-1'");
  // Unrun text is shown in the other mode too.
  await queryOf(page).fill("GET events WHERE source = 'typed'");
  await page.getByRole("button", { name: "Simple", exact: true }).click();
  await page.getByRole("button", { name: "Remove source is typed" }).waitFor();
  await page.getByRole("button", { name: "LQL" }).click();
  await queryOf(page).fill("GET events GROUPBY source");
  await page.getByRole("button", { name: "Simple", exact: true }).click();
  await page.getByText("Simple mode cannot show this query").waitFor();
  t.is(await queryOf(page).inputValue(), "GET events GROUPBY source");
});

test("a newcomer begins in simple mode, and searches several words, phrases and fields", async (t) => {
  await pages.post([
    { text: "payment 17 has failed", source: "words-1" },
    { text: "payment 18 has failed", source: "words-2" },
    { text: "failed before the payment", source: "words-1" },
    { text: "payment done", source: "words-1" },
  ]);
  const { page } = await pages.open(t, { newcomer: true, address: `#/${LOG}` });
  const box = page.getByRole("textbox", { name: "Search for words" });
  await box.fill("failed payment");
  await box.press("Enter");
  await page.getByRole("heading", { level: 1, name: "3 events" }).waitFor();
  t.is(await box.inputValue(), "failed payment");
  t.true(await box.evaluate((field) => field === document.activeElement));
  await box.fill('failed "has failed" source:words-1');
  await box.press("Enter");
  await page.getByRole("heading", { level: 1, name: "1 event" }).waitFor();
  await page.getByRole("button", { name: "Remove source is words-1" }).waitFor();
  t.is(await box.inputValue(), 'failed "has failed"');
  await assertAccessible(t, page, "a newcomer's search");
  // What simple mode cannot show is shown in LQL.
  await page.goto(`/#/${LOG}?q=GET+events+GROUPBY+source`);
  await queryOf(page).waitFor();
  await page.getByRole("button", { name: "LQL" }).click();
  await page.goto(`/#/${LOG}`);
  await page.reload();
  await queryOf(page).waitFor();
});

test("words typed in LQL are offered as a search of the text, which Enter takes", async (t) => {
  await pages.post([{ text: "the acquirer has refused", source: "offer" }]);
  const page = await opened(t, `#/${LOG}`);
  await page.getByRole("heading", { level: 1, name: /events?$/ }).waitFor();
  await queryOf(page).fill("acquirer refused");
  const offer = page.getByRole("button", { name: "Search the text for “acquirer refused”" });
  await offer.waitFor();
  t.is(await page.locator(".shade u").count(), 0);
  await assertAccessible(t, page, "words offered as a search");
  await queryOf(page).press("Enter");
  await page.getByRole("heading", { level: 1, name: "1 event" }).waitFor();
  t.is(await queryOf(page).inputValue(), "GET events WHERE text CONTAINS 'acquirer' AND text CONTAINS 'refused'");
  // Words with which queries begin are words too; a condition is offered as a query first.
  await queryOf(page).fill("get out");
  await queryOf(page).press("Enter");
  await page.waitForURL(/get.*AND.*out/);
  await queryOf(page).fill("source = 'offer'");
  await page.getByRole("button", { name: "Search the text for “source = 'offer'”" }).waitFor();
  t.true(await page.locator(".complete").evaluate((box) => box.scrollWidth <= box.clientWidth), "both offers fit");
  await page.getByRole("button", { name: "Use GET events WHERE source = 'offer'" }).click();
  t.is(await queryOf(page).inputValue(), "GET events WHERE source = 'offer'");
  await queryOf(page).fill("source:offer acquirer");
  await page.getByRole("button", { name: /^Search the text for/ }).click();
  await page.waitForURL(/source/);
  await queryOf(page).fill("moved words");
  await page.getByRole("button", { name: "Simple", exact: true }).click();
  t.is(await page.getByRole("textbox", { name: "Search for words" }).inputValue(), "moved words");
  await page.getByRole("button", { name: "LQL" }).click();
  await queryOf(page).fill("GET events WHERE text CONTAINS 'half");
  await page.getByRole("button", { name: "Simple", exact: true }).click();
  await page.getByText("Simple mode cannot show this query: it has a fault.").waitFor();
});
