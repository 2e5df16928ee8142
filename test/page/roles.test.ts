import test from "ava";
import type { ExecutionContext } from "ava";

import { ADMIN, LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages, signIn } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };
const READER = { email: "rita@example.org", password: "a very long secret" } as const;
const SENTENCE = `You may read ${LOG}, not change it. Its admins can.`;

/** Creates a class, and an account that may read the log, once. */
let making: Promise<void> | null = null;

async function make(t: ExecutionContext): Promise<void> {
  const { context } = await pages.open(t);
  await signIn(context, ADMIN);
  const answers = [
    await context.request.post("/manage/1/accounts", { data: READER, headers: HEADERS }),
    await context.request.put(`/manage/1/logs/${LOG}/shares/${READER.email}`, {
      data: { role: "user" },
      headers: HEADERS,
    }),
    await context.request.post(`/manage/1/logs/${LOG}/classFilters`, {
      data: { key: "paid", display: "Paid", color: "teal", weight: 7, text: "paid", source: "roles" },
      headers: HEADERS,
    }),
  ];
  for (const answer of answers) if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`);
  await pages.post([{ text: "paid by card", source: "roles" }]);
}

/** Opens the page as an account that may only read the log. A 403 is an error on the console. */
async function openAsReader(t: ExecutionContext, address: string) {
  await (making ??= make(t));
  const { page, context } = await pages.open(t, { signedIn: false });
  await signIn(context, READER);
  await page.goto(`/${address}`);
  await page.reload();
  return { page, context };
}

test.serial("the settings of a log show what a reader may see, and explain what is missing", async (t) => {
  const { page } = await openAsReader(t, `#/${LOG}/settings`);
  await page.getByText(SENTENCE, { exact: true }).waitFor();
  const parts = page.getByRole("navigation", { name: "Settings" }).getByRole("link");
  const names = await parts.allTextContents();
  t.deepEqual(names.slice(0, 3), ["General", "Saved queries", "Sending guide"]);
  await page.getByRole("row", { name: /^Events are kept For ever$/ }).waitFor();
  t.is(await page.locator(".pane :is(input, button)").count(), 0);
  await assertAccessible(t, page, "settings of a reader");
  // An address sent by an admin leads to the same explanation.
  for (const part of ["keys", "webhooks", "people", "reclassify"]) {
    await page.goto(`/#/${LOG}/settings/${part}`);
    await page.getByText(SENTENCE, { exact: true }).waitFor();
    t.is(await page.locator(".pane :is(input, button)").count(), 0, part);
    const words = new RegExp(`^${part}: only admins of the log ${LOG} see it$`, "i");
    await page.getByRole("heading", { name: words }).waitFor();
  }
  await page.getByText("General is shown instead.").waitFor();
  await page.goto("/#/service/health");
  await page.getByRole("heading", { name: "Health: only admins of this service see it" }).waitFor();
  await page.getByText("Preferences is shown instead.").waitFor();
  await assertAccessible(t, page, "a part that a reader may not see");
  await page.goto("/#/you/sessions");
  await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
  t.is(await page.getByText("is shown instead").count(), 0);
});

test.serial("a reader sees the conditions of classes and chooses options for themselves", async (t) => {
  const { page, context } = await openAsReader(t, `#/${LOG}/classes`);
  await page.getByText(SENTENCE).waitFor();
  t.is(await page.getByText("New class").count(), 0);
  await page.getByRole("navigation", { name: "Classes" }).getByRole("link", { name: /Paid/ }).click();
  await page.getByRole("heading", { level: 1, name: "Paid" }).waitFor();
  await page.getByText(SENTENCE, { exact: true }).waitFor();
  await page.getByRole("row", { name: "Text contains paid" }).waitFor();
  t.is(await page.locator("main input:not([type=checkbox])").count(), 0);
  t.is(await page.getByRole("button", { name: /Remove|Save class/ }).count(), 0);
  await assertAccessible(t, page, "a class that may be read");
  await page.getByLabel("Raise alerts").check();
  await page.getByRole("button", { name: "Save your options" }).click();
  await page.getByText("Your options of Paid were saved").waitFor();
  const path = `/manage/1/logs/${LOG}/classFilters/paid/options`;
  const stored = await context.request.get(path, { headers: HEADERS });
  t.deepEqual(await stored.json(), { alert: true, notify: false, hide: false });
  // A link to a new class shows no form that would be refused.
  await page.goto(`/#/${LOG}/classes/~new`);
  await page.getByText(SENTENCE).waitFor();
  t.is(await page.locator("main :is(input, button)").count(), 0);
});

test.serial("an open event and the guide offer a reader nothing that is refused", async (t) => {
  const query = encodeURIComponent("GET events WHERE source = 'roles'");
  const { page } = await openAsReader(t, `#/${LOG}?q=${query}`);
  await page.locator("#list").getByText("paid by card").first().click();
  await page.getByRole("button", { name: "Copy link" }).last().waitFor();
  t.is(await page.getByText("Make a class").count(), 0);
  await page.goto(`/#/${LOG}/start`);
  await page.getByText(`${SENTENCE} Ask one of them for a key.`).waitFor();
  t.is(await page.getByRole("button", { name: "Make a key" }).count(), 0);
  await assertAccessible(t, page, "the guide of a reader");
});

test.serial("an admin of the log still has everything", async (t) => {
  await (making ??= make(t));
  const query = encodeURIComponent("GET events WHERE source = 'roles'");
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${query}` });
  await page.locator("#list").getByText("paid by card").first().click();
  await page.getByRole("button", { name: "Make a class" }).first().click();
  const name = page.getByLabel("Name", { exact: true });
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>("#class-name")?.value === "Paid by card");
  // The name comes first.
  await name.and(page.locator(":focus")).waitFor();
  await page.getByText("Paid outweighs this one.").waitFor();
  await page.goto(`/#/${LOG}/settings/keys`);
  await page.getByRole("button", { name: "Make key" }).waitFor();
  await page.goto(`/#/${LOG}/classes`);
  await page.getByRole("link", { name: "New class" }).waitFor();
  t.is(await page.getByText(SENTENCE).count(), 0);
});

test.serial("on a small screen classes are listed until one is selected", async (t) => {
  await (making ??= make(t));
  const { page } = await pages.open(t, { address: `#/${LOG}/classes`, viewport: { width: 360, height: 780 } });
  const link = page.getByRole("navigation", { name: "Classes" }).getByRole("link", { name: /Paid/ });
  await page.getByRole("link", { name: "New class" }).waitFor();
  await assertAccessible(t, page, "classes on a small screen");
  await link.click();
  await page.getByRole("heading", { level: 1, name: "Paid" }).waitFor();
  t.false(await link.isVisible());
  await page.goBack();
  await link.waitFor();
});
