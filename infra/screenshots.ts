import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";

import { launchChromium } from "./chromium.ts";
import { buildPageIfStale } from "./page.ts";
import { PICTURES } from "./screenshots/pictures.ts";
import type { Picture, Scheme } from "./screenshots/pictures.ts";
import { shrinkPng } from "./screenshots/png.ts";
import { ACCOUNT, startShop } from "./screenshots/shop-service.ts";
import type { ShopService } from "./screenshots/shop-service.ts";

/**
 * Takes the screenshots of `docs/page.md`, with a service on embedded engines that holds a week of
 * a web shop, and Chromium. Only the dates differ between runs.
 */

const TARGET = join(import.meta.dirname, "../docs/images/page");
const VIEWPORT = { width: 1280, height: 800 } as const;
const DAY_MS = 86_400_000;
/** Time of day at which the shop's week ends: the afternoon, when traffic is highest. */
const END_OF_DAY_MS = 14.5 * 3_600_000;

async function takeScreenshots(names: readonly string[]): Promise<void> {
  await buildPageIfStale();
  const end = lastMomentBefore(Date.now());
  await using shop = await startShop(end);
  const browser = await launchChromium();
  try {
    if (names.length === 0) rmSync(TARGET, { recursive: true, force: true });
    mkdirSync(TARGET, { recursive: true });
    for (const picture of PICTURES)
      for (const scheme of names.length === 0 || names.includes(picture.name) ? picture.schemes : []) {
        const name = picture.schemes.length === 1 ? picture.name : `${picture.name}-${scheme}`;
        const png = shrinkPng(await take(browser, shop, picture, scheme, end));
        writeFileSync(join(TARGET, `${name}.png`), png);
        console.log(`${name}.png, ${Math.round(png.length / 1000)} kB`);
      }
  } finally {
    await browser.close();
  }
}

/** Returns the end of the shop's week, which is also the page's clock. */
function lastMomentBefore(now: number): number {
  return Math.floor((now - END_OF_DAY_MS) / DAY_MS) * DAY_MS + END_OF_DAY_MS;
}

async function take(
  browser: Browser,
  shop: ShopService,
  { address, viewport = VIEWPORT, isSignedOut = false, act }: Picture,
  colorScheme: Scheme,
  end: number,
): Promise<Buffer> {
  const context = await browser.newContext({
    viewport,
    colorScheme,
    reducedMotion: "reduce",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    baseURL: shop.url,
    deviceScaleFactor: 1,
  });
  try {
    if (!isSignedOut) {
      const answer = await context.request.post("/1/session", { data: ACCOUNT, headers: { "X-Loggia": "1" } });
      if (!answer.ok()) throw new Error(`Signing in returned ${answer.status()}: ${await answer.text()}`);
    }
    const page = await context.newPage();
    await page.clock.install({ time: end });
    await page.goto(`/${address}`);
    await act(page);
    await page.waitForLoadState("networkidle").catch(() => undefined);
    return await page.screenshot({ animations: "disabled", caret: "hide" });
  } finally {
    await context.close();
  }
}

await takeScreenshots(process.argv.slice(2));
