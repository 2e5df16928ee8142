import test from "ava";

import { DEFAULT_LIMITS } from "../../src/events/limits.ts";
import { KEY, LOG } from "../support/service.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const { text: TEXT } = DEFAULT_LIMITS;

const TRACE = Array.from({ length: 400 }, (_, i) => `    at frame${i} (/srv/shop/lib/part-${i}.js:${i}:7)`).join("\n");

test.serial("a cut message is shown to its limit, marked, and offered as a whole", async (t) => {
  const message = `pool exhausted\n${TRACE}\ncaused by: the last line`;
  const posted = await fetch(`${pages.service().postUrl}/gelf`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ version: "1.1", host: "trace", short_message: message }),
  });
  t.is(posted.status, 202);
  await pages.post([{ text: "beside it", source: "trace" }]);
  const query = encodeURIComponent("GET events WHERE text CONTAINS 'pool exhausted'");
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${query}&t=7d` });
  const row = page.locator("#list .row", { hasText: "pool exhausted" });
  const { height } = (await row.boundingBox())!;
  t.true(height < 60, "the row stays a row");
  await row.click();
  const open = page.locator("#list .open");
  await open.getByText("Cut after 8,000 characters.").waitFor();
  const text = open.locator("p.text");
  t.is(await text.textContent(), `${message.slice(0, TEXT)}…`);
  await open.getByRole("button", { name: "Show the whole message" }).click();
  await text.getByText("caused by: the last line").waitFor();
  t.is(await text.textContent(), message);
  await open.getByRole("button", { name: "Show the text" }).click();
  await open.getByText("Cut after 8,000 characters.").waitFor();
});

test.serial("a long text that was not cut is shown whole, and events like it are found", async (t) => {
  const message = `whole trace\n${TRACE}`.slice(0, TEXT);
  await pages.post([
    { text: message, source: "whole", tags: "cut", data: "of the producer" },
    { text: message.replace("frame7 ", "frame8 "), source: "whole" },
  ]);
  const query = encodeURIComponent("GET events WHERE source = 'whole'");
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${query}&t=7d` });
  await page.locator("#list .row").last().click();
  const open = page.locator("#list .open");
  await open.locator("p.text").waitFor();
  t.is((await open.locator("p.text").textContent())?.length, TEXT);
  t.is(await open.getByText("Cut after").count(), 0, "the data is the producer's own");
  await open.getByRole("button", { name: "2 like this" }).click();
  await page.getByRole("heading", { level: 1, name: "2 events" }).waitFor();
});
