import type { BrowserContext, ConsoleMessage, Page } from "playwright-core";

/** Failures that a page must never have, collected while a test runs. */
export type Problems = {
  /**
   * Expects responses with these statuses, also earlier ones; the browser reports each as an error.
   */
  readonly allowStatus: (...statuses: readonly number[]) => void;
  /**
   * Expects that the service reports that it is not ready, because one of its checks takes long.
   */
  readonly allowNotReady: () => void;
  /** Expects failed requests from now on, because the service is stopped or the network cut. */
  readonly allowNoAnswer: () => void;
  readonly all: () => readonly string[];
};

/** The browser's own report of a failed response or connection. */
const FAILED_LOAD = /^Failed to load resource: (?:the server responded with a status of (?<status>\d+)|net::)/;

/**
 * Collects console errors, uncaught errors, violations of the content security policy, and requests
 * to another origin. The page probes for a session with a request that is answered 401, so that
 * status is expected.
 */
export function collectProblems(context: BrowserContext, origin: string): Problems {
  /** `status` and `path`: of the response that the browser reports as an error. */
  const found: { readonly said: string; readonly status?: number; readonly path?: string }[] = [];
  const statuses = new Set([401]);
  let mayFail = false;
  let mayBeNotReady = false;
  context.on("console", (message) => {
    if (message.type() !== "error") return;
    const failed = FAILED_LOAD.exec(message.text());
    const status = failed?.groups?.["status"];
    if (status !== undefined)
      found.push({ said: describe(message), status: Number(status), path: pathOf(message.location().url) });
    else if (failed === null || !mayFail) found.push({ said: describe(message) });
  });
  context.on("weberror", (error) => found.push({ said: `uncaught: ${error.error().stack ?? error.error().message}` }));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "data:" && url.protocol !== "blob:")
      found.push({ said: `request to another origin: ${request.url()}` });
  });
  context.on("page", (page) => void reportViolations(page));
  const isExpected = ({ status, path }: (typeof found)[number]): boolean =>
    status !== undefined && (statuses.has(status) || (mayBeNotReady && status === 503 && path === "/health/ready"));
  return {
    allowStatus: (...more) => more.forEach((status) => statuses.add(status)),
    allowNotReady: () => (mayBeNotReady = true),
    allowNoAnswer: () => (mayFail = true),
    all: () => found.filter((problem) => !isExpected(problem)).map(({ said }) => said),
  };
}

function pathOf(url: string): string {
  return URL.parse(url)?.pathname ?? url;
}

function describe(message: ConsoleMessage): string {
  const { url, lineNumber } = message.location();
  return `console: ${message.text()} (${url}:${lineNumber})`;
}

/** Reports violations that the browser does not write to the console. */
async function reportViolations(page: Page): Promise<void> {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`violates ${event.effectiveDirective}: ${event.blockedURI} ${event.sample} ${event.sourceFile}`);
    });
  });
}
