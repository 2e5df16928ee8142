import test from "ava";

import { ADMIN, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { pressInTurn } from "./support/clock.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

test("a wrong password is reported beside the field, and the right one opens the page", async (t) => {
  const { page } = await pages.open(t, { signedIn: false, address: `#/${LOG}?q=GET+events+TAKE+3` });
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("E-mail and password do not match.").waitFor();
  t.is(await page.getByLabel("E-mail").inputValue(), ADMIN.email);
  await assertAccessible(t, page, "a wrong password");
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Search" }).waitFor();
  t.is(new URL(page.url()).hash, `#/${LOG}?q=GET+events+TAKE+3`);
});

test("signing out in the account menu ends the session, and a reload asks for a sign-in", async (t) => {
  const { page, context, url } = await pages.open(t);
  await page.getByRole("button", { name: /account/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Loggia" }).waitFor();
  const asked = await context.request.get(`${url}/1/session`, { headers: { "X-Loggia": "1" } });
  t.is(asked.status(), 401);
  await page.reload();
  await page.getByRole("heading", { name: "Sign in to Loggia" }).waitFor();
});

test("an expired session shows the sign-in over the page, which keeps the typed text", async (t) => {
  const { page, context } = await pages.open(t);
  const query = page.getByRole("textbox", { name: /Query/ });
  await query.fill("GET events WHERE source = 'kept'");
  await context.clearCookies();
  // A request beside the query may find the session expired first and open the dialog over the
  // button.
  await page.getByRole("button", { name: "Run" }).dispatchEvent("click");
  const dialog = page.getByRole("dialog", { name: "Your session ended" });
  await dialog.waitFor();
  await assertAccessible(t, page, "a session that ended");
  await dialog.getByLabel("Password").fill(ADMIN.password);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  t.is(await query.inputValue(), "GET events WHERE source = 'kept'");
});

test("the question mark lists the shortcuts, where single keys can be turned off", async (t) => {
  const { page } = await pages.open(t);
  await page.getByRole("link", { name: "Search" }).waitFor();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Shortcuts" });
  await dialog.getByText("Query", { exact: true }).waitFor();
  await assertAccessible(t, page, "the list of shortcuts");
  // Those of other screens too, after those of this one.
  t.deepEqual(await dialog.getByRole("heading", { level: 3 }).allTextContents(), [
    "Search",
    "In a list of events",
    "In the query",
    "Everywhere",
    "Around an event",
    "Inbox",
    "Bookmarks",
  ]);
  await dialog.getByText("Acknowledge all", { exact: true }).waitFor();
  await dialog.getByRole("checkbox").uncheck();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.keyboard.press("/");
  t.is(await dialog.count(), 0);
  t.false(await page.getByRole("textbox", { name: /Query/ }).evaluate((field) => field === document.activeElement));
});

test("o reverses the order, v opens the columns", async (t) => {
  await pages.post([
    { text: "one to be turned", source: "turned" },
    { text: "two to be turned", source: "turned" },
  ]);
  const query = encodeURIComponent("GET events WHERE source = 'turned'");
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${query}` });
  const texts = page.locator("#list .row .x");
  await until(async () => (await texts.allTextContents()).join() === "two to be turned,one to be turned", {
    what: "the newest first",
  });
  await page.keyboard.press("o");
  await until(async () => (await texts.allTextContents()).join() === "one to be turned,two to be turned", {
    what: "the oldest first",
  });
  await page.keyboard.press("v");
  await page.getByRole("dialog", { name: "Columns" }).waitFor();
  t.pass();
});

test("a message that cannot be undone does not change while it is shown", async (t) => {
  await pages.post([{ text: "to be copied", source: "copied" }]);
  const { page, context } = await pages.open(t, { address: `#/${LOG}` });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("#list").getByText("to be copied").waitFor();
  await page.keyboard.press("j");
  await pressInTurn(page, "y", "t");
  const toast = page.locator(".toast");
  await toast.getByText("Copied").waitFor();
  t.is(await toast.textContent(), "Copied");
  const changes = await toast.evaluate(async (element) => {
    let count = 0;
    const observer = new MutationObserver((records) => (count += records.length));
    observer.observe(element, { subtree: true, childList: true, characterData: true });
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    observer.disconnect();
    return count;
  });
  t.is(changes, 0);
});

test("at 360 px a long message is complete", async (t) => {
  const { page, context } = await pages.open(t, { viewport: { width: 360, height: 780 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Copy link" }).click();
  const toast = page.locator(".toast");
  await toast.getByText("The link was copied").waitFor();
  const { x, width } = (await toast.boundingBox())!;
  t.true(x >= 0 && x + width <= 360, `from ${x} to ${x + width} px`);
  t.false(await toast.evaluate((element) => element.scrollWidth > element.clientWidth));
});

test("at 360 px nothing needs horizontal scrolling, and the menu has what the bar leaves out", async (t) => {
  await pages.post([{ text: "a text that is long enough to need a second line on a small screen", source: "phone" }]);
  const { page } = await pages.open(t, { viewport: { width: 360, height: 780 } });
  await page.locator("#list").getByText("a text that is long enough").waitFor();
  t.is(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
  await assertAccessible(t, page, "the menu of small screens");
});

test("a query runs from the field to its rows, and back returns to the previous one", async (t) => {
  await pages.post([
    { text: "first of two", source: "alpha" },
    { text: "second of two", source: "beta" },
  ]);
  const { page } = await pages.open(t);
  const list = page.locator("#list");
  await list.getByText("first of two").waitFor();
  const query = page.getByRole("textbox", { name: /Query/ });
  await query.fill("GET events WHERE source = 'beta'");
  await query.press("Enter");
  await list.getByText("first of two").waitFor({ state: "detached" });
  t.true(await list.getByText("second of two").isVisible());
  await assertAccessible(t, page, "a result");
  await page.goBack();
  await list.getByText("first of two").waitFor();
  t.is(await query.inputValue(), "GET events");
});
