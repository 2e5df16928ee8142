import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { Page } from "playwright-core";

import { LOG } from "../support/service.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

/** Most JavaScript and CSS that a visit may request before its first rows, gzipped. */
const MOST_BYTES = 60 * 1024;

/** Returns events of four fields with six, three, six and two values. */
const events = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    text: `number ${i + 1}`,
    source: `source ${i % 6}`,
    tags: `tag${i % 3}`,
    attributes: { step: `step ${Math.min(i % 8, 5)}`, kind: i % 6 === 0 ? "rare" : "usual" },
  }));

type Asset = { readonly name: string; readonly isFirst: boolean };

/** Reloads the page and marks the moment of the first row. */
async function visit(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (document.querySelector("#list .slot") === null) return;
      observer.disconnect();
      performance.mark("rows");
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  await page.reload();
}

/**
 * Stretches the delays of 1 s and 2 s after which the page loads more without waiting for its rows,
 * so that a busy machine shows the rows before.
 */
async function stretchDelays(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const later = globalThis.setTimeout;
    const stretched = (task: () => void, delay_ms = 0) => later(task, delay_ms < 1_000 ? delay_ms : 100 * delay_ms);
    globalThis.setTimeout = stretched as typeof globalThis.setTimeout;
  });
}

/** Returns the scripts and styles of a visit, and which were requested before its first row. */
async function readAssets(page: Page): Promise<readonly Asset[]> {
  await stretchDelays(page);
  await visit(page);
  await page.locator(".facet .val").first().waitFor();
  await page.locator(".plot .b, .plot .cap").first().waitFor();
  return page.evaluate(() => {
    const rows_ms = performance.getEntriesByName("rows")[0]!.startTime;
    return performance
      .getEntriesByType("resource")
      .filter(({ name }) => /\.(?:js|css)$/.test(name))
      .map(({ name, startTime }) => ({ name, isFirst: startTime <= rows_ms }));
  });
}

async function sizeOfFirst(assets: readonly Asset[]): Promise<number> {
  let bytes = 0;
  for (const { name } of assets.filter(({ isFirst }) => isFirst)) {
    const response = await fetch(name, { headers: { "Accept-Encoding": "gzip" } });
    await response.arrayBuffer();
    if (response.headers.get("content-encoding") !== "gzip") throw new Error(`${name} came without gzip`);
    bytes += Number(response.headers.get("content-length"));
  }
  return bytes;
}

/** Returns the layout shifts of a page since it was opened. */
function readShifts(): Promise<string[]> {
  type Shift = { readonly sources: readonly { node: Element | null; previousRect: DOMRect; currentRect: DOMRect }[] };
  const describe = ({ sources }: Shift) =>
    sources.map(({ node, previousRect: { x, y }, currentRect }) => {
      const what = node?.outerHTML?.slice(0, 80) ?? node?.nodeName;
      return `${what}: ${x},${y} to ${currentRect.x},${currentRect.y}`;
    });
  return new Promise((resolve) => {
    const observer = new PerformanceObserver((list) =>
      resolve((list.getEntries() as unknown as Shift[]).flatMap(describe)),
    );
    observer.observe({ type: "layout-shift", buffered: true });
    // The observer is never called if there are none.
    setTimeout(() => resolve([]), 500);
  });
}

test("a first visit requests at most 60 KB of JavaScript and CSS before its rows", async (t) => {
  await pages.post(events(40));
  const { page } = await pages.open(t, { newcomer: true, address: `#/${LOG}` });
  const assets = await readAssets(page);
  const bytes = await sizeOfFirst(assets);
  t.true(bytes > 30_000, "the page's own code is among it");
  t.true(bytes <= MOST_BYTES, `${bytes} bytes: ${JSON.stringify(assets)}`);
  t.true(
    assets.some(({ isFirst }) => !isFirst),
    "what stands beside the rows comes after them",
  );
});

test("the rows are requested in parallel with the session", async (t) => {
  await pages.post(events(40));
  const { page } = await pages.open(t, { address: "#/you" });
  await page.getByRole("heading", { level: 1 }).first().waitFor();
  await page.goto("about:blank");
  const list = page.waitForRequest(/SORT/);
  await page.route(/\/1\/session$/, async (route) => {
    await list;
    await route.continue();
  });
  const requests: string[] = [];
  page.on("request", (request) => requests.push(decodeURIComponent(request.url())));
  await page.goto(`/#/${LOG}`);
  await page.locator("#list .slot").first().waitFor();
  await page.locator(".plot").waitFor();
  // The list uses the response requested ahead of it.
  const first = requests.filter((url) => url.includes("SORT+created+DESC+TAKE+100"));
  t.is(first.length, 1, first.join("\n"));
});

test("a slow list delays the fields and the histogram only for a moment", async (t) => {
  await pages.post(events(40));
  const { page } = await pages.open(t, { address: "#/you" });
  await page.goto("about:blank");
  await page.route(/SORT\+created/, () => undefined);
  await page.goto(`/#/${LOG}`);
  await page.locator(".plot").waitFor();
  await page.locator(".facet .val").first().waitFor();
  t.is(await page.locator("#list .slot").count(), 0);
});

test("nothing moves while a page loads, in any order of responses", async (t) => {
  await pages.post(events(40));
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  await page.route(/GROUPBY/, async (route) => {
    // The values of the upper fields arrive last.
    if (/source|class/.test(route.request().url())) await sleep(400);
    await route.continue();
  });
  await visit(page);
  await page.locator(".facet", { hasText: "kind" }).locator(".val").first().waitFor();
  await page.locator(".plot").waitFor();
  await sleep(500);
  t.deepEqual(await page.evaluate(readShifts), []);
});

test("the fields stay in place when a query leaves fewer values", async (t) => {
  await pages.post(events(40));
  const { page } = await pages.open(t, { address: `#/${LOG}` });
  const facet = (name: string) => page.locator(".facet", { has: page.locator("h3", { hasText: name }) });
  const tops = () =>
    page.evaluate(() => [...document.querySelectorAll(".facet")].map((each) => each.getBoundingClientRect().top));
  // Each field is read by itself.
  for (const name of ["source", "step", "kind"]) await facet(name).locator(".val").nth(1).waitFor();
  const before = await tops();
  await facet("kind").locator(".val", { hasText: "rare" }).click();
  await page.waitForFunction(() => {
    const source = [...document.querySelectorAll(".facet")].find((each) => each.textContent.startsWith("source"));
    return source?.querySelectorAll(".val").length === 1;
  });
  t.deepEqual(await tops(), before);
});
