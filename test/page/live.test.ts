import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { Page } from "playwright-core";

import { KEY, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { stopClock, within } from "./support/clock.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();
const tailOf = (source: string) => `#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}&live=1`;
const numbered = (source: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ text: `number ${from + i}`, source }));

/**
 * Posts 200 events per second from one sender.
 * @returns how many were posted
 */
async function feed(source: string, { from, duration_s }: { from: number; duration_s: number }): Promise<number> {
  const start_ms = performance.now();
  let sent = 0;
  for (; sent < duration_s * 200; sent += 50) {
    await sleep(Math.max(0, start_ms + sent * 5 - performance.now()));
    const response = await fetch(`${pages.service().postUrl}/1/logs/${LOG}/events`, {
      method: "POST",
      headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify(numbered(source, from + sent, 50)),
    });
    if (!response.ok) throw new Error(`Posting was answered ${response.status}`);
  }
  return sent;
}

/** Records in every frame the position of a row, the selection and the focus. */
async function watch(
  page: Page,
  id: string,
): Promise<() => Promise<Record<"tops" | "selections" | "focus", string[]>>> {
  const watching = await page.evaluateHandle((key) => {
    const seen = { tops: new Set<string>(), selections: new Set<string>(), focus: new Set<string>() };
    let isOn = true;
    const look = () => {
      const row = document.querySelector(`#list [data-id="${key}"]`);
      seen.tops.add(row === null ? "gone" : String(Math.round(row.getBoundingClientRect().top)));
      seen.selections.add(String(getSelection()));
      seen.focus.add(document.activeElement?.closest<HTMLElement>("[data-id]")?.dataset["id"] ?? "elsewhere");
      if (isOn) requestAnimationFrame(look);
    };
    look();
    return { seen, end: () => (isOn = false) };
  }, id);
  return () =>
    watching.evaluate(({ seen, end }) => {
      end();
      return { tops: [...seen.tops], selections: [...seen.selections], focus: [...seen.focus] };
    });
}

/** Returns the texts of all rows from top to bottom, by scrolling through the list. */
async function allTexts(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const list = document.querySelector<HTMLElement>("#list")!;
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const texts = new Map<number, string>();
    list.scrollTop = 0;
    for (let before = -1; list.scrollTop !== before;) {
      await frame();
      await frame();
      for (const row of list.querySelectorAll(".slot > [aria-rowindex]")) {
        const text = row.querySelector(".x")?.textContent;
        if (text) texts.set(Number(row.getAttribute("aria-rowindex")), text);
      }
      before = list.scrollTop;
      list.scrollTop += list.clientHeight / 2;
    }
    return [...texts].sort(([a], [b]) => a - b).map(([, text]) => text);
  });
}

test("at 200 new events per second an open event, the selection and the focus stay, and none is lost", async (t) => {
  t.timeout(240_000);
  await pages.post(numbered("flood", 1, 40));
  const { page } = await pages.open(t, { address: tailOf("flood") });
  await page.locator("#list").getByText("number 40", { exact: true }).waitFor();
  const row = page.locator("#list [data-id]", { hasText: "number 33" });
  await row.click();
  await page.getByText("Paused, 0 new").first().waitFor();
  await page.getByText("An event is open.").first().waitFor();
  const id = (await row.getAttribute("data-id"))!;
  await page.locator("#list .open").first().waitFor();
  await row.evaluate((slot) => {
    slot.querySelector<HTMLElement>("[aria-rowindex]")!.focus();
    getSelection()!.selectAllChildren(slot.querySelector(".x")!);
  });
  const seen = await watch(page, id);
  const sent = await feed("flood", { from: 41, duration_s: 10 });
  const words = `Paused, ${sent.toLocaleString("en-US")} new`;
  await page.getByText(words).first().waitFor();
  const { tops, selections, focus } = await seen();
  t.is(tops.length, 1, `the row stood at ${tops.join(", ")}`);
  t.deepEqual(selections, ["number 33"]);
  t.deepEqual(focus, [id]);
  await page.waitForFunction((said) => document.title.includes(said), words);
  await assertAccessible(t, page, "a tail that is paused");
  await page.keyboard.press("p");
  await page.getByText(words).first().waitFor({ state: "detached" });
  const all = Array.from({ length: 40 + sent }, (_, i) => `number ${40 + sent - i}`);
  const texts = await until(
    async () => {
      const read = await allTexts(page);
      return read.length >= all.length ? read : null;
    },
    { what: "every event in the list" },
  );
  t.deepEqual(texts, all);
});

test("a row stays under a pressed pointer, and the tail continues on release", async (t) => {
  await pages.post(numbered("pressed", 1, 10));
  const { page } = await pages.open(t, { address: tailOf("pressed") });
  await page.locator("#list").getByText("number 10", { exact: true }).waitFor();
  const row = page.locator("#list [data-id]", { hasText: "number 8" });
  const { x, y, height } = (await row.boundingBox())!;
  await page.mouse.move(x + 700, y + height / 2);
  await page.mouse.down();
  await pages.post(numbered("pressed", 11, 5));
  await page.getByText("Paused, 5 new").first().waitFor();
  await page.getByText("You hold the pointer down.").first().waitFor();
  t.is((await row.boundingBox())!.y, y);
  await page.mouse.move(x + 730, y + height / 2, { steps: 3 });
  await page.mouse.up();
  await page.locator("#list").getByText("number 15", { exact: true }).waitFor();
  await pages.post(numbered("pressed", 16, 1));
  await page.locator("#list").getByText("number 16", { exact: true }).waitFor();
});

/** Wraps the streams of a page so that `cutTail` breaks them, as a lost connection does. */
async function makeTailsBreakable(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const request = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const response = await request(input, init);
      if (!response.url.includes("/tail?") || response.body === null) return response;
      const broken = new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => {
          Object.assign(globalThis, { cutTail: () => controller.error(new TypeError("network error")) });
        },
      });
      return new Response(response.body.pipeThrough(broken), response);
    };
  });
}

test("a tail that lost its connection counts down and continues after the last event", async (t) => {
  await pages.post(numbered("cut", 1, 3));
  const { page, problems } = await pages.open(t);
  problems.allowNoAnswer();
  await makeTailsBreakable(page);
  await page.clock.install();
  await page.goto(`/${tailOf("cut")}`);
  await page.reload();
  await page.locator("#list").getByText("number 3").waitFor();
  await page.route(/\/tail\?/, (route) => route.abort());
  await page.evaluate(() => (globalThis as unknown as { cutTail: () => void }).cutTail());
  const live = page.locator(".live");
  await live.getByText("Connection lost", { exact: true }).first().waitFor();
  await live.getByText(/Trying again in \d+ s; nothing is lost/).waitFor();
  await assertAccessible(t, page, "a tail without a connection");
  await pages.post(numbered("cut", 4, 5));
  const tried = page.waitForRequest(/\/tail\?/);
  await page.getByRole("button", { name: "Try now" }).click();
  t.truthy((await tried).headers()["last-event-id"]);
  // From here on it reconnects by itself.
  await page.unroute(/\/tail\?/);
  await page.locator("#list").getByText("number 8").waitFor();
  // Screen readers announce it at once, not after the announcement of the loss.
  await stopClock(page);
  const isSaid = async () => (await live.getByRole("status").textContent()) === "Live";
  t.true(await within(page, 4_000, isSaid), "it is not announced");
  await page.clock.resume();
  t.deepEqual(
    await allTexts(page),
    [8, 7, 6, 5, 4, 3, 2, 1].map((number) => `number ${number}`),
  );
});

test("a tail leaves out events created before its range, and dates the rows of other days", async (t) => {
  const twoDaysAgo = Date.now() - 48 * 3_600_000;
  await pages.post(numbered("range", 1, 2));
  const { page } = await pages.open(t, { address: `${tailOf("range")}&from=-15m` });
  const list = page.locator("#list");
  await list.getByText("number 2", { exact: true }).waitFor();
  const brought = [
    { text: "of 1970", source: "range", created: 0 },
    { text: "of two days ago", source: "range", created: twoDaysAgo },
  ];
  await pages.post([...brought, ...numbered("range", 3, 1)]);
  await list.getByText("number 3", { exact: true }).waitFor();
  t.deepEqual(await allTexts(page), ["number 3", "number 2", "number 1"]);
  // Within all events they are new, and their rows show their days.
  await page.goto(`/${tailOf("range")}&from=all&tz=UTC`);
  await page.reload();
  const timeOf = (text: string) => list.locator(".row", { hasText: text }).locator("time").textContent();
  t.is(await timeOf("of 1970"), "1 Jan 1970");
  const { year, month, day } = partsOf(twoDaysAgo);
  const isThisYear = year === partsOf(Date.now()).year;
  const time = new Date(twoDaysAgo).toISOString().slice(11, 16);
  t.is(await timeOf("of two days ago"), isThisYear ? `${day} ${month} ${time}` : `${day} ${month} ${year}`);
  t.regex((await timeOf("number 3"))!, /^\d\d:\d\d:\d\d\.\d{3}$/);
});

/** Returns the date of a moment in UTC. */
function partsOf(moment: number): { year: string; month: string; day: string } {
  const [, day = "", month = "", year = ""] = new Date(moment).toUTCString().split(" ");
  return { year, month, day: String(Number(day)) };
}

test("Escape from a context leaves a tail paused, at the row that was left", async (t) => {
  await pages.post(numbered("context", 1, 40));
  const { page } = await pages.open(t, { address: tailOf("context") });
  const list = page.locator("#list");
  await list.getByText("number 40", { exact: true }).waitFor();
  await page.keyboard.press("p");
  await page.getByText("Paused, 0 new").first().waitFor();
  const row = list.locator(".row", { hasText: "number 25" }).first();
  await row.click();
  await page.keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: /^Around \d/ }).waitFor();
  await pages.post(numbered("context", 41, 3));
  await page.keyboard.press("Escape");
  await page.getByText("Paused, 3 new").first().waitFor();
  await page.getByText("You paused.").first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await until(async () => /number 25/.test(await focused()), { what: "the focus on the row that was left" });
  t.is(await list.getByText("number 43", { exact: true }).count(), 0);
  await page.keyboard.press("p");
  await list.getByText("number 43", { exact: true }).waitFor();
});
