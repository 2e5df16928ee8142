import test from "ava";

import { KEY, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { postEvents, sharePages } from "./support/pages.ts";
import type { Opened } from "./support/pages.ts";

const pages = sharePages();
const HEADERS = { "X-Loggia": "1" };

/** Makes a log by the page's form; it then shows the guide to the first event. */
async function makeLog({ page }: Opened, key: string): Promise<void> {
  await page.goto("/#/service/logs");
  await page.getByRole("textbox", { name: "Key, as in addresses" }).fill(key);
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(`The log ${key}`);
  await page.getByRole("button", { name: "Make log" }).click();
  await page.getByRole("heading", { name: `Send the first event to ${key}` }).waitFor();
}

test.serial("a new log has only the keys that its maker was shown", async (t) => {
  const opened = await pages.open(t, { address: "#/inbox" });
  const { page, context } = opened;
  await makeLog(opened, "shown-keys");
  const keys = async () =>
    (await (await context.request.get("/manage/1/logs/shown-keys/apiKeys", { headers: HEADERS })).json()) as unknown[];
  t.deepEqual(await keys(), []);
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByRole("status", { name: "New key" }).waitFor();
  t.is((await keys()).length, 1);
});

test.serial("choosing another log keeps the query and its range", async (t) => {
  const opened = await pages.open(t, { address: "#/inbox" });
  const { page } = opened;
  await makeLog(opened, "other-log");
  const [id] = await postEvents(pages.service(), { log: LOG, key: KEY }, [{ text: "opened", source: "kept" }]);
  const query = encodeURIComponent("GET events WHERE source = 'kept'");
  await page.goto(`/#/${LOG}?q=${query}&t=7d&open=${id}`);
  await page.getByRole("button", { name: "Last 7 days" }).waitFor();
  await page.getByRole("button", { name: `Log: ${LOG}` }).click();
  await page.getByRole("menuitemradio", { name: "other-log" }).click();
  await page.waitForURL(/#\/other-log\?/);
  await page.getByRole("button", { name: "Last 7 days" }).waitFor();
  t.is(await page.getByRole("textbox", { name: /Query/ }).inputValue(), "GET events WHERE source = 'kept'");
  t.false(page.url().includes("open="));
});

test.serial("a shorter retention says how many events go for good, and asks", async (t) => {
  const opened = await pages.open(t, { address: "#/inbox" });
  const { page, context } = opened;
  await makeLog(opened, "retained");
  const made = await context.request.post("/manage/1/logs/retained/apiKeys", {
    data: { scope: "read-write" },
    headers: HEADERS,
  });
  const { key } = (await made.json()) as { key: string };
  const created = Date.now() - 30 * 86_400_000;
  const events = [1, 2, 3].map((n) => ({ text: `old ${n}`, created }));
  await postEvents(pages.service(), { log: "retained", key }, [...events, { text: "new" }]);
  const stored = async () => {
    const { retentionDays } = (await (
      await context.request.get("/manage/1/logs/retained", { headers: HEADERS })
    ).json()) as { retentionDays: number | null };
    return retentionDays;
  };
  await page.goto("/#/retained/settings");
  const days = page.getByRole("spinbutton", { name: "Days that events are kept" });
  await days.fill("10");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "3 events are removed for good" }).waitFor();
  await assertAccessible(t, page, "the question before a shorter retention");
  t.is(await stored(), null);
  await page.getByRole("button", { name: "Keep the events" }).click();
  t.is(await page.getByText("removed for good").count(), 0);
  t.is(await stored(), null);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Keep 10 days only" }).click();
  await until(async () => (await stored()) === 10, { what: "the shorter retention" });
  // A longer one removes nothing, so nothing is asked.
  await days.fill("20");
  await page.getByRole("button", { name: "Save" }).click();
  await until(async () => (await stored()) === 20, { what: "the longer retention" });
});

test.serial("mail is not offered without a mail server", async (t) => {
  const { page } = await pages.open(t, { address: `#/${LOG}/classes/new` });
  await page.getByRole("checkbox", { name: "Raise alerts" }).waitFor();
  t.false(await page.getByRole("checkbox", { name: "Send mail" }).isVisible());
});
