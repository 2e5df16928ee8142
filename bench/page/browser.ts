import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { transform } from "esbuild";
import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";

import { launchChromium } from "../../infra/chromium.ts";
import { ACCOUNT } from "../support/storage.ts";

const SETTLE_POLL_MS = 300;
const SETTLE_POLLS = 100;

/** A signed-in page with its own profile and the probes of `probes.ts`. */
export type MeasuredPage = {
  readonly page: Page;
  /** Evaluates an expression in the page, such as `probes.rowElements()`. */
  readonly ask: <Answer>(expression: string) => Promise<Answer>;
  /** Waits until the browser has loaded its parts for a new window, which takes a full core. */
  readonly settle: () => Promise<void>;
  /** Slows down the page's processor by a factor. */
  readonly slowDown: (factor: number) => Promise<void>;
  /** Returns the heap size after a garbage collection, in bytes. */
  readonly heap: () => Promise<number>;
  readonly close: () => Promise<void>;
};

export type MeasuredBrowser = AsyncDisposable & {
  readonly open: (apiPort: number) => Promise<MeasuredPage>;
  /** Requests to other origins than the page's. */
  readonly foreignRequests: readonly string[];
};

export async function openBrowser(): Promise<MeasuredBrowser> {
  const browser = await launchChromium();
  const source = readFileSync(new URL("./probes.ts", import.meta.url), "utf8");
  const { code: content } = await transform(source, { loader: "ts" });
  const foreignRequests: string[] = [];
  return {
    foreignRequests,
    async open(apiPort) {
      const origin = `http://127.0.0.1:${apiPort}`;
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        baseURL: origin,
        timezoneId: "Europe/Berlin",
      });
      context.on("request", (request) => {
        const url = new URL(request.url());
        if (url.origin !== origin && /^(?:http|ws)/.test(url.protocol)) foreignRequests.push(request.url());
      });
      await context.addInitScript({ content });
      await signIn(context);
      const page = await context.newPage();
      const session = await context.newCDPSession(page);
      return {
        page,
        ask: <Answer>(expression: string) => page.evaluate<Answer>(expression),
        settle: () => settle(browser),
        slowDown: async (rate) => void (await session.send("Emulation.setCPUThrottlingRate", { rate })),
        heap: () => heapOf(session),
        close: () => context.close(),
      };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function signIn(context: BrowserContext): Promise<void> {
  const answer = await context.request.post("/1/session", { data: ACCOUNT, headers: { "X-Loggia": "1" } });
  if (!answer.ok()) throw new Error(`sign-in returned status ${answer.status()}: ${await answer.text()}`);
}

/** Waits until all processes of the browser together use less than a tenth of a core. */
async function settle(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession();
  const busy_s = async (): Promise<number> => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  for (let polls = 0, before_s = -1; polls < SETTLE_POLLS; polls++) {
    const now_s = await busy_s();
    if (before_s >= 0 && now_s - before_s < SETTLE_POLL_MS / 10_000) return await session.detach();
    before_s = now_s;
    await sleep(SETTLE_POLL_MS);
  }
  throw new Error("the browser did not become idle");
}

async function heapOf(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
}
