import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import test from "ava";
import type { ExecutionContext } from "ava";
import type { Page } from "playwright-core";

import { makeSnippet, SNIPPET } from "../../infra/snippet.ts";
import { get, KEY, LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { LONGEST_MS, sharePages } from "./support/pages.ts";

const pages = sharePages();

type Shown = { text: string; tags: string[]; source: string; user: string; link: string; value: number | null };

/** Opens a page of another origin that loads the script from the posting listener. */
async function otherPage(t: ExecutionContext, attributes = ""): Promise<{ page: Page; origin: string }> {
  const script = `<script src="${pages.service().postUrl}/loggia.js" data-log="${LOG}" data-key="${KEY}" ${attributes}></script>`;
  const server = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "text/html" }).end(`<!doctype html><title>Shop</title>${script}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close().closeAllConnections());
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const { context } = await pages.open(t, { signedIn: false });
  const page = await context.browser()!.newPage();
  page.setDefaultTimeout(LONGEST_MS);
  t.teardown(() => page.close());
  return { page, origin };
}

/** Allows pages of an origin to post, as an admin does in the settings of the log. */
async function allow(t: ExecutionContext, origin: string): Promise<void> {
  const { page } = await pages.open(t, { address: `#/${LOG}/settings/general` });
  await page.getByLabel("Pages that may post from a browser").fill(origin);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The log was changed").waitFor();
  await page.reload();
  t.is(await page.getByLabel("Pages that may post from a browser").inputValue(), origin);
}

async function eventsOf(source: string, count: number): Promise<Shown[]> {
  return until(
    async () => {
      const { body } = await get(pages.service(), `/1/logs/${LOG}/events?pagesize=500&source=${source}`);
      return (body as Shown[]).length >= count ? (body as Shown[]) : null;
    },
    { what: `${count} events of ${source}` },
  );
}

test("the script is built from its source and small", async (t) => {
  t.is(readFileSync(SNIPPET, "utf8"), await makeSnippet());
  const response = await fetch(`${pages.service().postUrl}/loggia.js`);
  t.is(response.status, 200);
  t.is(response.headers.get("Content-Type"), "text/javascript; charset=utf-8");
  t.is(response.headers.get("Cache-Control"), "public, max-age=3600");
  t.true((await response.bytes()).length <= 2_048);
});

test.serial("a page of another origin posts in batches and reports its errors", async (t) => {
  const { page, origin } = await otherPage(t, 'data-source="shop" data-user="ann" data-errors');
  await allow(t, origin);
  await page.goto(origin);
  let sent = 0;
  const answers: number[] = [];
  page.on("request", (request) => (sent += request.method() === "POST" ? 1 : 0));
  page.on("response", (response) => {
    if (response.request().method() === "POST") answers.push(response.status());
  });
  await page.evaluate(() => {
    const { loggia } = window as unknown as { loggia: (text: string, fields?: object) => void };
    for (let n = 0; n < 100; n += 1) loggia(`step ${n} ä`, { tags: "step", value: n, attributes: { n } });
    setTimeout(() => {
      throw new Error("a page broke");
    });
    void Promise.reject(new Error("nobody awaited this"));
  });
  const found = await eventsOf("shop", 102);
  t.is(found.length, 102);
  // The service may have stored them before the browser reports its answers.
  await until(() => sent > 0 && answers.length === sent, { what: "the answers" });
  t.deepEqual([...new Set(answers)], [201]);
  t.true(answers.length <= 2, `${answers.length} requests`);
  const step = found.find(({ text }) => text === "step 99 ä");
  t.like(step, { tags: ["step"], value: 99, user: "ann", link: `${origin}/` });
  const errors = found.filter(({ tags }) => tags.includes("error")).map(({ text }) => text);
  t.deepEqual(errors.toSorted(), ["Error: nobody awaited this", "Uncaught Error: a page broke"]);
});

test.serial("events posted while a page is left are stored", async (t) => {
  const { page, origin } = await otherPage(t, 'data-source="left"');
  await allow(t, origin);
  await page.goto(origin);
  await page.evaluate(() => {
    const { loggia } = window as unknown as { loggia: (text: string) => void };
    addEventListener("pagehide", () => loggia("too late for this script, and not for the next page"));
    for (let n = 0; n < 50; n += 1) loggia(`last ${n} ${"x".repeat(400)}`);
  });
  await page.goto("about:blank");
  const found = await eventsOf("left", 50);
  t.is(found.filter(({ text }) => text.startsWith("last ")).length, 50);
});

test.serial("a page keeps its events while the service refuses them, and each is stored once", async (t) => {
  const { page, origin } = await otherPage(t, 'data-source="kept"');
  await allow(t, origin);
  let refused = 0;
  await page.route(`${pages.service().postUrl}/1/**`, async (route) => {
    if (route.request().method() === "POST" && refused < 2) {
      refused += 1;
      // The first is stored, and its response lost.
      if (refused === 1) await route.fetch();
      return route.abort();
    }
    return route.continue();
  });
  await page.goto(origin);
  await page.evaluate(() => {
    const { loggia } = window as unknown as { loggia: (text: string) => void };
    for (let n = 0; n < 10; n += 1) loggia(`kept ${n}`);
  });
  const answer = await page.waitForResponse((response) => response.request().method() === "POST");
  t.is(answer.status(), 201);
  t.is(refused, 2);
  t.is((await eventsOf("kept", 10)).length, 10);
});

test.serial("a page of an origin that the log does not allow cannot read the response", async (t) => {
  const { page, origin } = await otherPage(t, 'data-source="stranger"');
  await page.goto(origin);
  const isRefused = await page.evaluate(
    ([url, key]) =>
      fetch(`${url}/1/logs/first/events`, {
        method: "POST",
        headers: { "Content-Type": "application/x-ndjson", Authorization: `Bearer ${key}` },
        body: '{"text":"from a stranger","source":"stranger"}',
      }).then(
        () => false,
        () => true,
      ),
    [pages.service().postUrl, KEY] as const,
  );
  t.true(isRefused);
  const { body } = await get(pages.service(), `/1/logs/${LOG}/events?source=stranger`);
  t.deepEqual(body, []);
});
