import type { BrowserContext, Page, Request } from "playwright-core";

import { until } from "../../support/until.ts";

/** Requests under way of each page. */
const underWay = new WeakMap<Page, Set<Request>>();

/** Follows the requests of a context's pages, for {@link answered} and {@link quiet}. */
export function followRequests(context: BrowserContext): void {
  context.on("page", (page) => {
    const requests = new Set<Request>();
    underWay.set(page, requests);
    page.on("request", (request) => {
      // The requests of the document that is left may never end.
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) requests.clear();
      // A tail has no end.
      if (!request.url().includes("/tail?")) requests.add(request);
    });
    const ended = (request: Request): void => void requests.delete(request);
    page.on("requestfinished", ended).on("requestfailed", ended);
  });
}

/** Waits until the requests that were sent so far are answered. */
export async function answered(page: Page): Promise<void> {
  const requests = underWay.get(page)!;
  await until(() => requests.size === 0, { what: "the answers to the requests of the page" });
}

/**
 * Waits until a page has its answers and sends no more requests. Counts turns of the page, so that
 * a busy machine is waited for. Playwright's `networkidle` is a fixed delay and fires once per
 * document.
 */
export async function quiet(page: Page): Promise<void> {
  const requests = underWay.get(page)!;
  for (let turns = 0; turns < 5; turns++) {
    await answered(page);
    // An answer may lead to the next request in the frame after it.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20))));
    if (requests.size > 0) turns = -1;
  }
}
