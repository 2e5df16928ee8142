import type { BrowserContext, ConsoleMessage, Page } from "playwright-core";

/** What a page must never do, collected while a test runs. */
export type Problems = {
  /** Answers of these statuses are expected, earlier ones too; the browser reports each as an error of its own. */
  readonly allowStatus: (...statuses: readonly number[]) => void;
  /** Requests fail on purpose from now on: the service is stopped, or the network cut. */
  readonly allowNoAnswer: () => void;
  readonly all: () => readonly string[];
};

/** The browser's own report of an answer or a connection that failed. */
const FAILED_LOAD = /^Failed to load resource: (?:the server responded with a status of (?<status>\d+)|net::)/;

/**
 * Collects errors on the console, uncaught errors, violations of the content security policy, and
 * requests to another origin. A new session is asked for with a 401, so that status is expected.
 */
export function collectProblems(context: BrowserContext, origin: string): Problems {
  /** `status`: that of an answer which the browser reports as an error. */
  const found: { readonly said: string; readonly status?: number }[] = [];
  const statuses = new Set([401]);
  let mayFail = false;
  context.on("console", (message) => {
    if (message.type() !== "error") return;
    const failed = FAILED_LOAD.exec(message.text());
    const status = failed?.groups?.["status"];
    if (status !== undefined) found.push({ said: describe(message), status: Number(status) });
    else if (failed === null || !mayFail) found.push({ said: describe(message) });
  });
  context.on("weberror", (error) => found.push({ said: `uncaught: ${error.error().stack ?? error.error().message}` }));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && url.protocol !== "data:" && url.protocol !== "blob:")
      found.push({ said: `request to another origin: ${request.url()}` });
  });
  context.on("page", (page) => void reportViolations(page));
  return {
    allowStatus: (...more) => more.forEach((status) => statuses.add(status)),
    allowNoAnswer: () => (mayFail = true),
    all: () => found.filter(({ status }) => status === undefined || !statuses.has(status)).map(({ said }) => said),
  };
}

function describe(message: ConsoleMessage): string {
  const { url, lineNumber } = message.location();
  return `console: ${message.text()} (${url}:${lineNumber})`;
}

/** Reports violations that the browser's console leaves out. */
async function reportViolations(page: Page): Promise<void> {
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`violates ${event.effectiveDirective}: ${event.blockedURI} ${event.sample} ${event.sourceFile}`);
    });
  });
}
