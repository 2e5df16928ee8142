import test from "ava";
import type { BrowserContext, Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };
const PATH = `/manage/1/logs/${LOG}/hooks`;
const SETTINGS = `#/${LOG}/settings/webhooks`;

/** Calls the API as another browser does. */
async function ask(context: BrowserContext, method: string, path: string, data?: object) {
  const answer = await context.request.fetch(PATH + path, { method, headers: HEADERS, ...(data && { data }) });
  if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`);
  return answer.status() === 204 ? null : ((await answer.json()) as Readonly<Record<string, unknown>>);
}

const focusedName = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

test.serial("a change does not undo one that was made elsewhere meanwhile, unless the user saves again", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS });
  await ask(context, "POST", "", { name: "shared" });
  await page.reload();
  await button(page, "Change shared").click();
  await page.getByLabel("Source", { exact: true }).fill("ours");
  await ask(context, "PUT", "/shared", { signature: "gitlab", template: { text: "{theirs}" } });
  await button(page, "Save webhook").click();
  await page.getByText(/^This webhook was changed elsewhere since you opened it\./).waitFor();
  t.like(await ask(context, "GET", "/shared"), { signature: "gitlab", template: { text: "{theirs}" } });
  const row = page.locator("tr.over", { hasText: "shared" });
  await row.getByText("Yes", { exact: true }).waitFor();
  t.is(await page.getByLabel("Source", { exact: true }).inputValue(), "ours", "what was typed stays");
  await assertAccessible(t, page, "a webhook that was changed elsewhere");
  await button(page, "Save webhook").click();
  await row.getByText("No, needs a key").waitFor();
  t.like(await ask(context, "GET", "/shared"), { signature: "none", template: { source: "ours" } });
});

test.serial("a webhook that was removed elsewhere leaves the list when it is saved", async (t) => {
  const { page, context, problems } = await pages.open(t, { address: SETTINGS });
  await ask(context, "POST", "", { name: "vanishing" });
  await page.reload();
  await button(page, "Change vanishing").click();
  await ask(context, "DELETE", "/vanishing");
  problems.allowStatus(404);
  await button(page, "Save webhook").click();
  await page.getByText(`The log ${LOG} has no hook "vanishing"`).waitFor();
  await page.locator("tr.over", { hasText: "vanishing" }).waitFor({ state: "detached" });
  t.is(await page.getByText("This did not work").count(), 0);
});

test.serial("a webhook whose answer was lost is in the list, so that a new secret can be generated", async (t) => {
  const { page, context, problems } = await pages.open(t, { address: SETTINGS });
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByLabel("Name", { exact: true }).fill("lost");
  problems.allowNoAnswer();
  await page.route(`**${PATH}`, async (route) => {
    if (route.request().method() !== "POST") return await route.continue();
    await route.fetch();
    return await route.abort("connectionreset");
  });
  await button(page, "Make webhook").click();
  await page.locator("tr.over", { hasText: "lost" }).waitFor();
  await page.getByText(`The log ${LOG} has a hook lost already`).waitFor();
  await page.getByText("The service did not answer").waitFor();
  await page.unrouteAll();
  await button(page, "Cancel").click();
  await button(page, "Change lost").click();
  await page.getByLabel("Generate a new secret").check();
  await button(page, "Save webhook").click();
  const secret = await page.getByLabel("New secret", { exact: true }).and(page.locator("output")).textContent();
  t.regex(secret ?? "", /^whsec_/);
  t.is((await ask(context, "GET", "/lost"))?.["secret"], undefined);
});

test.serial("settings that are too long for a request say so", async (t) => {
  const { page, problems } = await pages.open(t, { address: SETTINGS });
  problems.allowStatus(400, 413);
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByLabel("From").selectOption({ label: "Any JSON" });
  await page.getByLabel("Name", { exact: true }).fill("long");
  await page.getByLabel("Text", { exact: true }).fill("x".repeat(70_000));
  await button(page, "Make webhook").click();
  await page.getByText("These settings are too long to be saved").waitFor();
  await page.getByLabel("Text", { exact: true }).fill("x".repeat(1001));
  await button(page, "Make webhook").click();
  await page.locator("#template-text-fault", { hasText: "at most 1000 characters" }).waitFor();
  t.is(await page.getByText("These settings are too long to be saved").count(), 0);
});

test.serial("by keyboard alone a removal is confirmed or not, and the focus is never lost", async (t) => {
  const { page, context } = await pages.open(t, { address: SETTINGS });
  for (const name of ["first-of-two", "second-of-two"]) await ask(context, "POST", "", { name });
  await page.reload();
  const remove = button(page, "Remove first-of-two");
  await remove.focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await remove.waitFor();
  t.is(await focusedName(page), "Remove first-of-two", "Keep leads back");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.locator("tr.over", { hasText: "first-of-two" }).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement?.id === "main");
  await button(page, "Remove second-of-two").waitFor();
  await button(page, "Copy the address of second-of-two").waitFor();
});
