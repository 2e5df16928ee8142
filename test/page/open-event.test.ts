import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const DAY_MS = 86_400_000;
const SOURCE = "linked";
const NEWER = 20_000;
const BATCH = 5_000;

let posting: Promise<string> | null = null;
/**
 * Posts an event of five days ago and many newer ones.
 * @returns the id of the first
 */
const postEvents = (): Promise<string> => (posting ??= postAll());

async function postAll(): Promise<string> {
  const now = Date.now();
  const [id] = await pages.post([
    { text: "the event of the link", source: SOURCE, created: now - 5 * DAY_MS },
    ...Array.from({ length: 300 }, (_, i) => ({ text: `older ${i}`, source: SOURCE, created: now - 6 * DAY_MS - i })),
  ]);
  for (let from = 0; from < NEWER; from += BATCH)
    await pages.post(
      Array.from({ length: BATCH }, (_, i) => ({
        text: `newer ${from + i}`,
        source: SOURCE,
        created: now - 4 * DAY_MS + (from + i) * 10,
      })),
    );
  return id!;
}

const query = encodeURIComponent(`GET events WHERE source = '${SOURCE}'`);
const titled = (page: Page, title: string) => page.locator(".msg", { has: page.getByRole("heading", { name: title }) });

test.serial("a link opens its event and scrolls to it, however many newer ones the list has", async (t) => {
  const id = await postEvents();
  const { page } = await pages.open(t, { address: "#/you" });
  let asked = 0;
  page.on("request", (request) => (asked += /TAKE/.test(decodeURIComponent(request.url())) ? 1 : 0));
  await page.goto(`/#/${LOG}?q=${query}&t=7d&open=${id}`);
  const slot = page.locator(`#list .slot[data-id="${id}"]`);
  await slot.locator(".open .facts, .open .pairs").first().waitFor();
  const topOf = async () => (await slot.locator("> .row").boundingBox())!.y;
  await until(async () => (await topOf()) > 0 && (await topOf()) < 800, { what: "the row on the screen" });
  t.true(asked < 15, `${asked} pages were read`);
  await page.keyboard.press("Escape");
  await slot.locator(".open").waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { level: 1, name: "20,301 events" }).waitFor();
  await page.locator("#list").getByText("newer 19999").waitFor();
});

test.serial("a link to a missing event says so, however long the list is", async (t) => {
  await postEvents();
  const gone = "6b07af0b116000c6a24dc746";
  const { page, problems } = await pages.open(t, { address: "#/you" });
  problems.allowStatus(404);
  let asked = 0;
  page.on("request", (request) => (asked += /TAKE/.test(decodeURIComponent(request.url())) ? 1 : 0));
  await page.goto(`/#/${LOG}?q=${query}&t=7d&open=${gone}`);
  await page.locator("#list .row .x").first().waitFor();
  await titled(page, "This event is gone").waitFor();
  t.true(asked < 15, `${asked} pages were read`);
});
