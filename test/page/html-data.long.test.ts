import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import test from "ava";
import type { ExecutionContext } from "ava";
import { chromium } from "playwright-core";

import { findChromium } from "../../infra/chromium.ts";
import { LOG } from "../support/service.ts";
import { until } from "../support/until.ts";
import { LONGEST_MS, sharePages, signIn } from "./support/pages.ts";

const pages = sharePages();

/** Long enough for hints, which a browser follows at once. */
const QUIET_MS = 2_000;

async function listen(t: ExecutionContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * HTML with every hint that makes a browser contact another host, in the frame and in a nested one.
 */
function htmlWithHints(at: string, name: string): string {
  const hints = `<link rel=preconnect href="${at}"><link rel="dns-prefetch" href="//${name}">`;
  const others = ["prefetch", "preload", "modulepreload", "prerender", "stylesheet", "icon", "manifest"];
  const links = others.map((rel) => `<link rel=${rel} as=image href="${at}/${rel}">`).join("");
  const nested = hints.replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  return `${hints}${links}<LiNk rel=preconnect href="${at}"><iframe srcdoc="${nested}"></iframe><a href="//${name}">x</a>
    <img src="${at}/image"><meta http-equiv="refresh" content="0; url=${at}/refresh"><p>Shown as a page</p>`;
}

/**
 * Opens a browser with a profile of its own, because without one it follows no hints and the test
 * would see nothing.
 * @returns its page, and functions that read the names it has resolved: so far, and at its end
 */
async function openProfile(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), "loggia-profile-"));
  const log = join(folder, "net-log.json");
  const context = await chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: await findChromium(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", `--log-net-log=${log}`],
    ignoreDefaultArgs: ["--disable-background-networking"],
    baseURL: pages.service().apiUrl,
    viewport: { width: 1440, height: 900 },
  });
  context.setDefaultTimeout(LONGEST_MS);
  t.teardown(async () => {
    await context.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  return {
    context,
    page: context.pages()[0] ?? (await context.newPage()),
    readLog: () => readFileSync(log, "utf8"),
    close: async () => {
      await context.close();
      return readFileSync(log, "utf8");
    },
  };
}

test("a producer's page contacts no other host, not even through hints for the browser", async (t) => {
  t.timeout(180_000);
  let connections = 0;
  const outside = await listen(
    t,
    createServer((socket) => {
      connections += 1;
      socket.on("error", () => undefined).destroy();
    }),
  );
  const control = await listen(
    t,
    createHttpServer((_, response) => {
      response.writeHead(200, {
        "Content-Type": "text/html",
        // The headers with which the service returns data.
        "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      });
      response.end(htmlWithHints(outside, "looked-up-by-the-control.example"));
    }),
  );
  await pages.post([
    { text: "sent as a page", source: "pages", data: `@html\n${htmlWithHints(outside, "looked-up.example")}` },
  ]);
  const { context, page, readLog, close } = await openProfile(t);
  await signIn(context);
  const query = encodeURIComponent("GET events WHERE source = 'pages'");
  await page.goto(`/#/${LOG}?q=${query}`);
  await page.getByText("sent as a page").click();
  await page.getByRole("button", { name: "Show as a page" }).click();
  const frame = page.frameLocator("iframe.page-frame");
  await frame.getByText("Shown as a page").waitFor();
  const address = await page.locator("iframe.page-frame").getAttribute("src");
  await sleep(QUIET_MS);
  t.is(connections, 0, "the frame reached another host");
  // The same document opened directly by its address.
  const alone = await context.newPage();
  const path = address!.replace(/&ticket=.*/, "");
  const made = await context.request.post("/1/session/tickets", { data: { path }, headers: { "X-Loggia": "1" } });
  const { ticket } = (await made.json()) as { ticket: string };
  await alone.goto(`${path}&ticket=${encodeURIComponent(ticket)}`);
  await alone.getByText("Shown as a page").waitFor();
  await sleep(QUIET_MS);
  t.is(connections, 0, "the document reached another host");
  // The same hints in an unchanged document: this browser follows them, with or without a sandbox.
  await alone.goto(control);
  await until(() => connections > 0, { what: "the control to reach the other host" });
  const seesControl = async () => {
    // The browser writes its log in pieces; each visit adds some.
    await alone.reload();
    return readLog().includes("looked-up-by-the-control.example");
  };
  await until(seesControl, { what: "the control to look up the other name" });
  const log = await close();
  t.true(log.includes("looked-up-by-the-control.example"));
  t.false(log.includes('"looked-up.example'), "a name was looked up");
  t.false(log.includes("//looked-up.example"), "a name was looked up");
});

test.serial("a page that is redrawn is still shown, and never beside its source", async (t) => {
  const source = "pages-again";
  await pages.post([{ text: "a page", source, data: "@html\n<p>Shown again</p>" }]);
  const query = encodeURIComponent(`GET events WHERE source = '${source}'`);
  const { page } = await pages.open(t, { address: `#/${LOG}?q=${query}` });
  await page.locator("#list").getByText("a page", { exact: true }).click();
  await page.getByRole("button", { name: "Show as a page" }).click();
  const shown = page.frameLocator("iframe.page-frame").getByText("Shown again");
  await shown.waitFor();
  t.is(await page.locator(".open pre.data").count(), 0);
  // Going to its neighbours and back redraws the event.
  await page.keyboard.press("c");
  await page.getByRole("heading", { level: 1, name: /^Around/ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { level: 1, name: "1 event" }).waitFor();
  await shown.waitFor();
  t.is(await page.locator(".open pre.data").count(), 0);
  await page.getByRole("button", { name: "Show as text" }).click();
  await page.locator(".open pre.data").getByText("<p>Shown again</p>").waitFor();
  t.is(await page.locator("iframe.page-frame").count(), 0);
});
