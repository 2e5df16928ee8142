import type { Page, Route } from "playwright-core";

import { quiet } from "./quiet.ts";

/** A response that replaces the service's: its error, or a text of something in front of it. */
export type Answer =
  | {
      readonly status: number;
      readonly code: string;
      readonly message: string;
      readonly retryAfter_s?: number;
    }
  | { readonly status: number; readonly text: string };

const QUERIES = /\/1\/logs\/[^/]+\/(?:query|fields)\?/;

/**
 * Answers the queries of a page with an error.
 * @returns a function that ends it
 */
export async function answerQueries(
  page: Page,
  answer: Answer,
  onAsked: () => void = () => undefined,
): Promise<() => Promise<void>> {
  const handle = async (route: Route): Promise<void> => {
    onAsked();
    await route.fulfill(responseOf(answer));
  };
  await page.route(QUERIES, handle);
  return () => page.unroute(QUERIES, handle);
}

function responseOf(answer: Answer): Parameters<Route["fulfill"]>[0] {
  if ("text" in answer) return { status: answer.status, body: answer.text };
  const { retryAfter_s, ...error } = answer;
  return {
    status: error.status,
    contentType: "application/json",
    headers: retryAfter_s === undefined ? {} : { "Retry-After": String(retryAfter_s) },
    body: JSON.stringify({ error }),
  };
}

/** Waits until a page has loaded the part that reports an unreachable service. */
export async function waitForPreload(page: Page): Promise<void> {
  await page.waitForFunction(() =>
    performance.getEntriesByType("resource").some(({ name }) => name.includes("/assets/list-state.")),
  );
  await quiet(page);
}

/** Waits until a line of a message is shown, if only for a moment: the page itself looks for it. */
export async function catchLine(page: Page, line: RegExp): Promise<void> {
  await page.waitForFunction((source) => {
    const lines = [...document.querySelectorAll(".msg p")];
    return lines.some(({ textContent }) => new RegExp(source).test(textContent));
  }, line.source);
}
