import type { Page } from "playwright-core";

import { LOG } from "./shop-service.ts";

export type Scheme = "light" | "dark";

/** A screenshot of `docs/page.md`. */
export type Picture = {
  readonly name: string;
  /** URL fragment to open. */
  readonly address: string;
  readonly schemes: readonly Scheme[];
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Performs user actions until the page shows what the screenshot needs. */
  readonly act: (page: Page) => Promise<void>;
  /** Whether the screenshot is taken without signing in. */
  readonly isSignedOut?: boolean;
};

const SMALL = { width: 360, height: 780 } as const;
const ERRORS = "GET events.error WHERE source = 'payments'";

const search = (query: string, more = "") => `#/${LOG}?q=${encodeURIComponent(query)}${more}`;
const rowAt = (page: Page, index: number) => page.locator("#list [aria-rowindex]").nth(index);

/** Waits for the list, the chart and the fields. */
async function seeResult(page: Page): Promise<void> {
  await rowAt(page, 1).waitFor();
  await page.locator(".plot .b").first().waitFor();
  await page.locator(".facet .val, .only-mid >> visible=true").first().waitFor();
}

/** Waits for the first element of each kind. */
function seeing(...selectors: readonly string[]): Picture["act"] {
  return async (page) => {
    for (const selector of selectors) await page.locator(selector).first().waitFor();
  };
}

async function openEvent(page: Page): Promise<void> {
  await rowAt(page, 3).click();
  await page
    .getByRole("button", { name: /like this|More/ })
    .first()
    .waitFor();
}

async function typeQuery(page: Page, query: string): Promise<void> {
  await seeResult(page);
  const field = page.getByRole("combobox", { name: /Query/ }).or(page.getByRole("textbox", { name: /Query/ }));
  await field.fill("");
  await field.pressSequentially(query);
}

async function pressKey(page: Page, key: string): Promise<void> {
  await seeResult(page);
  await rowAt(page, 1).focus();
  await page.keyboard.press(key);
}

/** Fills the form of a new webhook, and scrolls to the event that its template makes of an example. */
async function previewWebhook(page: Page): Promise<void> {
  await page.getByRole("button", { name: "New webhook" }).click();
  await page.getByLabel("From").selectOption({ label: "Any JSON" });
  await page.getByLabel("Name", { exact: true }).fill("builds");
  await page.getByRole("button", { name: "Fill in an example" }).click();
  for (const [label, text] of [
    ["Text", "{title} on {branch}"],
    ["Tags", "build {branch}"],
    ["Severity", "{level}"],
    ["Value", "{build}"],
  ] as const)
    await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByRole("row", { name: "value 17" }).waitFor();
  await page.getByRole("button", { name: "Make webhook" }).scrollIntoViewIfNeeded();
}

const BOTH: readonly Scheme[] = ["light", "dark"];
const LIGHT: readonly Scheme[] = ["light"];

export const PICTURES: readonly Picture[] = [
  { name: "search", address: search("GET events"), schemes: BOTH, act: seeResult },
  {
    name: "search-small",
    address: search("GET events"),
    schemes: LIGHT,
    viewport: SMALL,
    act: async (page) => {
      await rowAt(page, 1).waitFor();
      await page.locator(".plot .b").first().waitFor();
    },
  },
  {
    name: "event",
    address: search(ERRORS),
    schemes: BOTH,
    act: async (page) => {
      await seeResult(page);
      await openEvent(page);
    },
  },
  {
    name: "groups",
    address: search("GET events GROUPBY HOUR, class COLUMNS(KEY, COUNT)"),
    schemes: BOTH,
    act: seeing(".spark", ".facet .val"),
  },
  {
    name: "patterns",
    address: search("GET events", "&view=patterns"),
    schemes: LIGHT,
    act: seeing(".spark", ".plot .b", ".facet .val"),
  },
  {
    name: "context",
    address: search(ERRORS),
    schemes: LIGHT,
    act: async (page) => {
      await seeResult(page);
      await rowAt(page, 12).focus();
      await page.keyboard.press("c");
      await page.locator("#list .dim").first().waitFor();
    },
  },
  { name: "live", address: search("GET events", "&live=1"), schemes: LIGHT, act: seeResult },
  {
    name: "fault",
    address: search("GET events"),
    schemes: LIGHT,
    viewport: { width: 1280, height: 320 },
    act: async (page) => {
      await typeQuery(page, "GET events WHERE sorce = 'payments'");
      await page.getByRole("button", { name: "Use source" }).waitFor();
    },
  },
  {
    name: "completion",
    address: search("GET events"),
    schemes: LIGHT,
    viewport: { width: 1280, height: 420 },
    act: async (page) => {
      await typeQuery(page, "GET events WHERE @");
      await page.getByRole("option", { name: /took/ }).first().waitFor();
    },
  },
  {
    name: "inbox",
    address: "#/inbox",
    schemes: LIGHT,
    act: async (page) => {
      await page.locator("#list .row[data-id]").first().focus();
    },
  },
  {
    name: "classes",
    address: `#/${LOG}/classes/payment-failed`,
    schemes: LIGHT,
    act: seeing(".preview .row"),
  },
  {
    name: "keys",
    address: `#/${LOG}/settings/keys`,
    schemes: LIGHT,
    viewport: { width: 1280, height: 480 },
    act: async (page) => {
      await page.getByRole("button", { name: "Make key" }).click();
      await page.getByLabel("New key", { exact: true }).and(page.locator("output")).waitFor();
    },
  },
  {
    name: "webhooks",
    address: `#/${LOG}/settings/webhooks`,
    schemes: LIGHT,
    viewport: { width: 1280, height: 1338 },
    act: previewWebhook,
  },
  {
    name: "first-run",
    address: "#/new-shop",
    schemes: LIGHT,
    act: async (page) => {
      await page.getByRole("heading", { name: /Send the first event/ }).waitFor();
    },
  },
  {
    name: "sign-in",
    address: `#/${LOG}`,
    schemes: LIGHT,
    viewport: { width: 1280, height: 560 },
    isSignedOut: true,
    act: async (page) => {
      await page.getByRole("heading", { name: /Sign in/ }).waitFor();
    },
  },
  {
    name: "shortcuts",
    address: search("GET events"),
    schemes: LIGHT,
    viewport: { width: 1280, height: 640 },
    act: async (page) => {
      await pressKey(page, "?");
      await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
    },
  },
];
