import { setTimeout as sleep } from "node:timers/promises";

import { quantile } from "../frame.ts";
import type { Bench, Benchmark, Figures } from "../frame.ts";
import { batchesOf } from "../support/batches.ts";
import { ask } from "../support/client.ts";
import { API_KEY, DAYS, DAY_MS, END_MS, LOG } from "../support/events.ts";
import type { ServiceProcess } from "../support/processes.ts";
import { openBrowser } from "./browser.ts";
import type { MeasuredBrowser, MeasuredPage } from "./browser.ts";

const ROWS = 100_000;
const PER_SECOND = 200;
const MB = 1_000_000;
/** Duration of the tail in minutes. */
const TAIL_MINUTES = Number(process.env["TAIL_MINUTES"] ?? 2);
/** Shorter tails say little about an hour. */
const LONG_MINUTES = 30;

export const benchmark: Benchmark = {
  name: "page",
  kind: "embedded",
  isOptIn: true,
  about:
    `the page in a browser: ${ROWS.toLocaleString("en-US")} rows, ` +
    `a tail of ${PER_SECOND}/s for ${TAIL_MINUTES} minutes (TAIL_MINUTES) | an empty page, scrolled the same way`,
  async run(bench) {
    const { service } = await bench.world.dataset(bench.quick ? ROWS / 20 : ROWS);
    await using browser = await openBrowser();
    const pageBench = { ...bench, browser, service };
    await measureFirstVisit(pageBench);
    await measureScrolling(pageBench);
    await measureLargest(pageBench);
    await measureFault(pageBench);
    await measureStillness(pageBench);
    await measureTail(pageBench);
    bench.report.fact("no request to another origin", browser.foreignRequests.length === 0);
  },
};

type PageBench = Bench & { readonly browser: MeasuredBrowser; readonly service: ServiceProcess };

/** Search for all events of the data set. */
const ALL = `/#/${LOG}?from=${END_MS - DAYS * DAY_MS}&to=${END_MS}&tz=UTC`;
const searchFor = (source: string, more = ""): string =>
  `/#/${LOG}?q=${encodeURIComponent(`GET events WHERE source = '${source}'`)}${more}`;

function figures(...rounds: readonly number[]): Figures {
  return { name: "", rounds };
}

async function measureFirstVisit({ browser, service, report, quick }: PageBench): Promise<void> {
  const rounds: number[] = [];
  let bytes = 0;
  let shift = 0;
  for (let round = 0; round < (quick ? 2 : 6); round++) {
    const visit = await browser.open(service.apiPort);
    await visit.settle();
    await visit.slowDown(4);
    await visit.page.goto(ALL, { waitUntil: "commit" });
    rounds.push(await visit.ask<number>("probes.firstRow()"));
    bytes = await gzipped(await visit.ask<string[]>("probes.assets()"));
    await visit.page.locator(".plot").waitFor();
    await visit.page.locator(".facet .val").first().waitFor();
    await visit.page.waitForLoadState("networkidle");
    shift = Math.max(shift, await visit.ask<number>("probes.shift()"));
    await visit.close();
  }
  // The very first visit meets cold caches of the service.
  report.figure({
    name: "first rows of a first visit, CPU slowed 4 ×",
    unit: "ms",
    ours: figures(...rounds.slice(1)),
    target: { kind: "at most", value: 500 },
  });
  report.figure({
    name: "JS and CSS loaded by then, gzipped",
    unit: "KiB",
    ours: figures(bytes / 1024),
    target: { kind: "at most", value: 60 },
  });
  report.fact(`no layout shift while loading (${shift})`, shift === 0);
}

async function gzipped(addresses: readonly string[]): Promise<number> {
  const lengths = addresses.map(async (address) => {
    const answer = await fetch(address, { headers: { "Accept-Encoding": "gzip" } });
    await answer.arrayBuffer();
    return Number(answer.headers.get("Content-Length"));
  });
  return (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
}

async function measureScrolling({ browser, service, report, quick }: PageBench): Promise<void> {
  const list = await browser.open(service.apiPort);
  await list.page.goto(ALL);
  await list.ask("probes.firstRow()");
  const loaded = await list.ask<number>(`probes.load(${quick ? ROWS / 20 : ROWS})`);
  const empty = await browser.open(service.apiPort);
  await empty.page.setContent(
    `<div id="list" style="height:700px;overflow:auto"><div style="height:${loaded * 26}px"></div></div>`,
  );
  const [ours, limit]: [number[][], number[][]] = [[], []];
  let elements = 0;
  for (const step of quick ? [120] : [120, 700, 120, 700]) {
    limit.push(await inFront(empty, `probes.scroll(300, ${step})`));
    ours.push(await inFront(list, `probes.scroll(300, ${step})`));
    elements = Math.max(elements, await list.ask<number>("probes.rowElements()"));
  }
  const of = (part: number, frames: readonly (readonly number[])[]) => frames.map((each) => quantile(each, part));
  report.line(`  scrolled through ${loaded.toLocaleString("en-US")} rows, a few rows or a screen per frame`);
  for (const [name, part] of [
    ["p95", 0.95],
    ["longest", 1],
  ] as const) {
    report.ratio({
      name: `frames, ${name}`,
      unit: "ms",
      ours: { name: "list", rounds: of(part, ours) },
      limit: { name: "empty page", rounds: of(part, limit) },
    });
  }
  const all = ours.flat();
  report.figure({
    name: "p95 of all frames",
    unit: "ms",
    ours: figures(quantile(all, 0.95)),
    target: { kind: "at most", value: 17 },
  });
  report.figure({
    name: "longest frame",
    unit: "ms",
    ours: figures(Math.max(...all)),
    target: { kind: "at most", value: 50 },
  });
  report.fact(`at most 500 row elements (${elements})`, elements <= 500);
  report.figure({
    name: `heap with ${loaded.toLocaleString("en-US")} rows`,
    unit: "MB",
    ours: figures((await list.heap()) / MB),
    target: { kind: "at most", value: 200 },
  });
  await list.close();
  await empty.close();
}

async function inFront({ page, ask }: MeasuredPage, expression: string): Promise<number[]> {
  await page.bringToFront();
  return ask<number[]>(expression);
}

/** Measures events with fields of maximum length. */
async function measureLargest({ browser, service, report, quick }: PageBench): Promise<void> {
  const source = "largest".padEnd(200, "-");
  const large = (i: number) => ({
    text: `${i} ${"word ".repeat(100)}`.slice(0, 500),
    tags: Array.from({ length: 66 }, (_, tag) => String(10 + tag)).join(" "),
    source,
    user: "u".repeat(200),
    link: `https://example.org/${"p".repeat(180)}`,
    value: i,
    data: "d".repeat(5_120),
    attributes: Object.fromEntries(Array.from({ length: 8 }, (_, name) => [`a${name}`, "v".repeat(4_000)])),
  });
  const events = Array.from({ length: 600 }, (_, i) => large(i));
  for (const batch of batchesOf(events, 100)) await post(service, batch);
  await found(service, source, events.length);
  const rounds: number[] = [];
  for (let round = 0; round < (quick ? 1 : 5); round++) {
    const visit = await browser.open(service.apiPort);
    await visit.page.goto(searchFor(source));
    await visit.ask("probes.firstRow()");
    rounds.push(await visit.ask<number>(`probes.untilDrawn(${events.length})`));
    await visit.close();
  }
  report.figure({
    name: "500 largest events until rendered",
    unit: "ms",
    ours: figures(...rounds),
    target: { kind: "at most", value: 200 },
  });
}

async function measureFault({ browser, service, report }: PageBench): Promise<void> {
  const visit = await browser.open(service.apiPort);
  await visit.page.goto(ALL);
  await visit.ask("probes.firstRow()");
  const rounds: number[] = [];
  // The first text loads the parser.
  await visit.ask(`probes.untilUnderlined("GET evnts")`);
  for (const text of ["GET events WHERE sorce = 1", "GET events TAKE 1000", "GET events WHERE text MATCHES '(?=a)'"]) {
    await visit.page.locator("textarea.lql").fill("GET events");
    await visit.page.locator(".shade u").waitFor({ state: "detached" });
    rounds.push(await visit.ask<number>(`probes.untilUnderlined(${JSON.stringify(text)})`));
  }
  report.figure({
    name: "a query error until underlined",
    unit: "ms",
    ours: figures(...rounds),
    target: { kind: "at most", value: 100 },
  });
  await visit.close();
}

/** Checks that an open row keeps its place, its selected text and the focus while events arrive. */
async function measureStillness({ browser, service, report, quick }: PageBench): Promise<void> {
  const source = "still";
  await post(service, numbered(source, 0, 40));
  await found(service, source, 40);
  const { page, ask: evaluate, close } = await browser.open(service.apiPort);
  await page.goto(searchFor(source, "&live=1"));
  const row = page.locator("#list [data-id]", { hasText: "number 33" });
  await row.click();
  await page.locator("#list .open .pairs").first().waitFor();
  const id = (await row.getAttribute("data-id"))!;
  await row.locator("[aria-rowindex]").first().focus();
  await row.locator(".x").first().selectText();
  await evaluate(`probes.watch("${id}")`);
  const sent = await feed(service, source, { from: 40, duration_s: quick ? 5 : 60 });
  await page
    .getByText(`Paused, ${sent.toLocaleString("en-US")} new`)
    .first()
    .waitFor();
  const seen = await evaluate<Record<"tops" | "selections" | "focus", string[]>>(`probes.watched("${id}")`);
  const seconds = quick ? 5 : 60;
  report.fact(`the open row keeps its position for ${seconds} s at ${PER_SECOND} events/s`, seen.tops.length === 1);
  report.fact(
    "the open row keeps its selection",
    seen.selections.length === 1 && seen.selections[0]!.includes("number 33"),
  );
  report.fact("the open row keeps the focus", seen.focus.join() === id);
  await page.keyboard.press("p");
  await page.locator("#list [data-id]", { hasText: `number ${39 + sent}` }).waitFor();
  const texts = await evaluate<string[]>("probes.texts()");
  const isEachOnce = texts.length === 40 + sent && new Set(texts).size === texts.length;
  report.fact(`resuming shows each of ${40 + sent} events once (${texts.length})`, isEachOnce);
  await close();
}

async function measureTail({ browser, service, report, quick }: PageBench): Promise<void> {
  const source = "tailed";
  const { page, heap, close } = await browser.open(service.apiPort);
  await page.goto(searchFor(source, "&live=1"));
  const minutes = quick ? 0.2 : TAIL_MINUTES;
  const heaps_MB: number[] = [];
  const slices = Math.max(4, Math.min(60, Math.round(minutes * 2)));
  let sent = 0;
  for (let slice = 0; slice < slices; slice++) {
    sent += await feed(service, source, { from: sent, duration_s: (minutes * 60) / slices });
    await page.locator("#list [data-id]", { hasText: `number ${sent - 1}` }).waitFor();
    heaps_MB.push((await heap()) / MB);
  }
  const heaps = heaps_MB.map((each) => each.toFixed(0)).join(" ");
  report.line(`  heap while tailing ${sent.toLocaleString("en-US")} events, after garbage collection, MB: ${heaps}`);
  const isLong = minutes >= LONG_MINUTES;
  report.figure({
    name: `heap after ${minutes} minutes of a tail`,
    unit: "MB",
    ours: figures(heaps_MB.at(-1)!),
    target: { kind: "at most", value: 200 },
  });
  const half = heaps_MB.slice(Math.floor(heaps_MB.length / 2));
  report.figure({
    name: "growth over its second half",
    unit: "MB",
    ours: figures(half.at(-1)! - half[0]!),
    ...(isLong && { target: { kind: "at most", value: 10 } as const }),
  });
  await close();
}

function numbered(source: string, from: number, count: number): readonly object[] {
  return Array.from({ length: count }, (_, i) => ({ text: `number ${from + i}`, source }));
}

/** Posts 200 events per second at an even rate. @returns the number of events */
async function feed(
  service: ServiceProcess,
  source: string,
  { from, duration_s }: { readonly from: number; readonly duration_s: number },
): Promise<number> {
  const start_ms = performance.now();
  const piece = PER_SECOND / 4;
  let sent = 0;
  for (; sent < duration_s * PER_SECOND; sent += piece) {
    await sleep(Math.max(0, start_ms + (sent * 1000) / PER_SECOND - performance.now()));
    await post(service, numbered(source, from + sent, piece));
  }
  return sent;
}

async function post(service: ServiceProcess, events: readonly object[]): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${service.postPort}/1/logs/${LOG}/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(events),
  });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`the post returned status ${answer.status}: ${body.slice(0, 300)}`);
}

/** Waits until a number of events of a source can be found. */
async function found(service: ServiceProcess, source: string, count: number): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if ((await ask(service.apiPort, "/events", { source, pagesize: "1" })).total >= count) return;
    await sleep(100);
  }
  throw new Error(`${count} events of ${source} were not found within a minute`);
}
