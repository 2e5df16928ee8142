import { readFile } from "node:fs/promises";
import test from "ava";
import type { Page } from "playwright-core";

import { ADMIN, AUTHORIZATION, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { pressInTurn } from "./support/clock.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const HOUR_MS = 3_600_000;

/** Presses Tab until an element of this name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    const found = await page.evaluate(() => {
      const { activeElement: element } = document;
      return element === null || element === document.body
        ? ""
        : `${element.ariaLabel ?? ""} ${element.textContent ?? ""}`;
    });
    if (name.test(found)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}`);
}

test("an analyst needs no pointer from sign-in to export", async (t) => {
  const classed = await fetch(`${pages.service().apiUrl}/manage/1/logs/${LOG}/classFilters`, {
    method: "POST",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ key: "declined", display: "Declined", color: "orange", weight: 10, tag: "declined" }),
  });
  t.is(classed.status, 201);
  const options = await fetch(`${pages.service().apiUrl}/manage/1/logs/${LOG}/classFilters/declined/options`, {
    method: "PUT",
    headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
    body: JSON.stringify({ alert: true, notify: false, hide: false }),
  });
  t.true(options.ok);
  const now = Date.now();
  await pages.post([
    ...[1, 2, 3].map((n) => ({ text: `till ${n} opened`, source: "keyboard", created: now - 6 * HOUR_MS - n })),
    ...[4, 5].map((n) => ({ text: `till ${n} opened`, source: "keyboard", created: now - 2 * HOUR_MS - n })),
    { text: "a van came", source: "elsewhere", created: now - 2 * HOUR_MS - 4_500 },
    { text: "card of ann declined", source: "till", tags: ["declined"] },
  ]);
  const { page } = await pages.open(t, { signedIn: false, address: `#/${LOG}` });
  const { keyboard } = page;
  const heading = (name: string | RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();
  const focused = page.locator("#list [aria-rowindex]:focus");
  const askForFive = async (): Promise<void> => {
    await keyboard.press("/");
    await keyboard.press("ControlOrMeta+a");
    await keyboard.type("GET events WHERE source = 'keyboard'");
    await keyboard.press("Escape");
    await keyboard.press("Enter");
    await heading("5 events");
  };

  // Sign in; the first field has the focus.
  await page.locator("input[name=email]:focus, input[type=email]:focus").waitFor();
  await keyboard.type(ADMIN.email);
  await keyboard.press("Tab");
  await keyboard.type(ADMIN.password);
  await keyboard.press("Enter");
  await page.locator("#list [aria-rowindex]").first().waitFor();

  // Query.
  await askForFive();

  // Narrow by the bars, from the last one back to the one with the two newer events.
  await page.locator(".hist [role=option][aria-label*=': 2 events']").waitFor({ state: "attached" });
  await keyboard.press("Tab");
  await keyboard.press("h");
  const plot = page.locator(".plot:focus, .plot :focus");
  await plot.waitFor();
  await keyboard.press("End");
  const bars = page.locator(".hist [role=listbox]");
  const barName = () =>
    bars.evaluate((box) => document.getElementById(box.getAttribute("aria-activedescendant") ?? "")?.ariaLabel ?? "");
  for (let bar = 0; bar < 60; bar++) {
    const name = await barName();
    if (/: 2 events/.test(name)) break;
    await keyboard.press("ArrowLeft");
    await until(async () => (await barName()) !== name, { what: "the bar before" });
  }
  await keyboard.press("Enter");
  await heading("2 events");
  await page.locator("#list").getByText("till 1 opened").waitFor({ state: "detached" });

  // Open an event, and close it.
  await keyboard.press("j");
  await focused.waitFor();
  await keyboard.press("Home");
  await keyboard.press("Enter");
  await page.locator(".open").getByText("till 4 opened").or(page.locator(".open .facts")).first().waitFor();
  t.is(await focused.getAttribute("aria-expanded"), "true");
  await keyboard.press("ArrowLeft");
  await page.locator(".open").waitFor({ state: "detached" });

  // The context shows events that the query leaves out, and Escape returns.
  await keyboard.press("c");
  await heading(/^Around /);
  await page.locator("#list").getByText("a van came").waitFor();
  await keyboard.press("Escape");
  await heading("2 events");
  await page.locator("#list").getByText("a van came").waitFor({ state: "detached" });
  await page.locator("#list").getByText("till 4 opened").waitFor();

  // Bookmark; the list may be redrawn when the result is read again.
  let id: string | null = null;
  await until(
    async () => {
      await keyboard.press("j");
      id = await page.evaluate(() => document.activeElement?.closest("[data-id]")?.getAttribute("data-id") ?? null);
      return id !== null;
    },
    { what: "the focus on an event" },
  );
  await keyboard.press("b");
  await page.locator(`#list [data-id="${id}"] .flag`).waitFor();
  await pressInTurn(page, "g", "b");
  await heading("1 bookmark");
  t.is(await page.locator("#list .row[data-id]").getAttribute("data-id"), id);

  // Acknowledge an alert.
  await pressInTurn(page, "g", "i");
  await heading("1 unread alert");
  await page.locator("#list .row[data-id]", { hasText: "card of ann declined" }).waitFor();
  await keyboard.press("j");
  await page.locator("#list .row[data-id]:focus", { hasText: "card of ann declined" }).waitFor();
  await keyboard.press("e");
  await heading("0 unread alerts");

  // Export all of a result as a file.
  await pressInTurn(page, "g", "s");
  await page.locator("#list [aria-rowindex]").first().waitFor();
  await askForFive();
  await keyboard.press("Tab");
  const downloading = page.waitForEvent("download");
  await keyboard.press("x");
  await page.getByRole("dialog", { name: "Export" }).waitFor();
  await page.locator("[role=dialog] select:focus").waitFor();
  await tabTo(page, /^\s*Export$/);
  await keyboard.press("Enter");
  const lines = (await readFile(await (await downloading).path(), "utf8")).trim().split("\n");
  t.is(lines.length, 6);
  t.regex(lines.at(-1) ?? "", /till/);

  await until(
    async () => {
      const answer = await fetch(`${pages.service().apiUrl}/1/logs/alerts?state=seen&pagesize=1`, {
        headers: { Authorization: AUTHORIZATION },
      });
      return answer.headers.get("x-total-count") === "1";
    },
    { what: "the alert that was acknowledged" },
  );
});
