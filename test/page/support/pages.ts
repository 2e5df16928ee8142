import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "ava";
import type { ExecutionContext } from "ava";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

import { launchChromium } from "../../../infra/chromium.ts";
import { buildPageIfStale } from "../../../infra/page.ts";
import { ADMIN, environmentOf, get, KEY, LOG, startService } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { collectProblems } from "./problems.ts";
import type { Problems } from "./problems.ts";
import { followRequests } from "./quiet.ts";

export type OpenOptions = Pick<
  BrowserContextOptions,
  "colorScheme" | "reducedMotion" | "timezoneId" | "viewport" | "forcedColors"
> & {
  /** The fragment to open: `#/first?q=…`. */
  readonly address?: string;
  /** true: as one who never used the page; otherwise the query is edited in LQL. */
  readonly newcomer?: boolean;
  /** false: without a session. */
  readonly signedIn?: boolean;
};

export type Opened = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Base address of the page. */
  readonly url: string;
  readonly problems: Problems;
};

/** An event of a batch; `docs/batches.md` names its fields. */
export type NewEvent = Readonly<Record<string, unknown>> & { readonly text: string };

export type Pages = {
  readonly service: () => Service;
  /**
   * Opens the page in a browser context of the test's own. After the test it fails if the page
   * violated its content security policy, logged an error or contacted another origin.
   */
  readonly open: (t: ExecutionContext, options?: OpenOptions) => Promise<Opened>;
  /** Posts events and waits until they are visible. */
  readonly post: (events: readonly NewEvent[]) => Promise<readonly string[]>;
};

/**
 * The tests of a file act as several users at once but share one account, so its limits of
 * concurrent queries and responses are raised.
 */
const MANY_READERS = {
  LOGGIA_RATE_QUERIES: "100",
  LOGGIA_RATE_QUERIES_ALL: "100",
  LOGGIA_ANSWERS_MB: "4096",
  LOGGIA_MEMORY: "32GB",
};

/** Longest wait for anything on a page, as long as that of `until`. */
export const LONGEST_MS = 90_000;

/** Starts one browser and one service for the tests of a file. Call it at the top of the file. */
export function sharePages(kind: "embedded" | "cluster" = "embedded"): Pages {
  const folder = mkdtempSync(join(tmpdir(), "loggia-test-"));
  let service: Service | null = null;
  let browser: Browser | null = null;
  test.before(async (t) => {
    t.timeout(600_000, "The browser may have to be installed first");
    await buildPageIfStale();
    const environment = { ...environmentOf(kind, folder), ...MANY_READERS };
    [service, browser] = await Promise.all([startService(environment), launchChromium()]);
  });
  test.after.always(async () => {
    await browser?.close();
    await service?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const running = (): Service => {
    if (service === null) throw new Error("The service is not started yet");
    return service;
  };
  return {
    service: running,
    async open(t, options = {}) {
      if (browser === null) throw new Error("The browser is not started yet");
      return openPage(t, browser, running(), options);
    },
    post: (events) => postEvents(running(), { log: LOG, key: KEY }, events),
  };
}

/** The storage of one who used the page before it had simple mode. */
const USED = [{ name: "loggia.preferences", value: "{}" }];

async function openPage(
  t: ExecutionContext,
  browser: Browser,
  service: Service,
  { address = "", newcomer = false, signedIn = true, ...emulated }: OpenOptions,
): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    baseURL: service.apiUrl,
    ...(!newcomer && { storageState: { cookies: [], origins: [{ origin: service.apiUrl, localStorage: USED }] } }),
    ...emulated,
  });
  context.setDefaultTimeout(LONGEST_MS);
  followRequests(context);
  const problems = collectProblems(context, service.apiUrl);
  t.teardown(async () => {
    // A handler that still waits would fail once its page is closed.
    for (const routed of [context, ...context.pages()]) await routed.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
    const found = problems.all();
    if (found.length > 0) throw new Error(`The page did what it must not:\n${found.join("\n")}`);
  });
  if (signedIn) await signIn(context);
  const page = await context.newPage();
  await page.goto(`/${address}`);
  return { page, context, url: service.apiUrl, problems };
}

/** Signs a browser context in without opening the page. */
export async function signIn(context: BrowserContext, account: { email: string; password: string } = ADMIN) {
  const response = await context.request.post("/1/session", { data: account, headers: { "X-Loggia": "1" } });
  if (!response.ok()) throw new Error(`Signing in was answered ${response.status()} ${await response.text()}`);
}

/**
 * Posts events and waits until they are visible, and with them their alerts.
 * @returns their ids
 */
export async function postEvents(
  service: Service,
  { log, key }: { readonly log: string; readonly key: string },
  events: readonly NewEvent[],
): Promise<readonly string[]> {
  const response = await fetch(`${service.postUrl}/1/logs/${log}/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify(events),
  });
  if (!response.ok) throw new Error(`Posting was answered ${response.status} ${await response.text()}`);
  const { items } = (await response.json()) as { items: { id: string }[] };
  const ids = items.map(({ id }) => id);
  if (ids.length === 0) return ids;
  // An event is found by its id before queries find it.
  const ends = new Set([ids[0]!, ids.at(-1)!]);
  const query = `GET events WHERE id IN (${[...ends].map((id) => `'${id}'`).join(", ")}) COLUMNS(COUNT)`;
  const areThere = async () => {
    const { body } = await get(service, `/1/logs/${log}/query?query=${encodeURIComponent(query)}`);
    return (body as readonly { count: string }[])[0]?.count === String(ends.size);
  };
  await until(areThere, { what: "the events that were posted" });
  return ids;
}
