import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import test from "ava";
import type { ExecutionContext } from "ava";

import { buildPage } from "../../infra/page.ts";
import { createPageHandler } from "../../src/http/assets.ts";
import { get } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { shareService } from "../support/shared-service.ts";
import { temporaryFolder } from "../support/temporary.ts";

let service: Service;
shareService((started) => (service = started));

/** One build for all tests of this file, over an asset of an earlier one. */
const BUILT = mkdtempSync(join(tmpdir(), "loggia-test-"));
let sizes: ReadonlyMap<string, number>;
test.before(async () => {
  mkdirSync(`${BUILT}/assets`);
  writeFileSync(`${BUILT}/assets/main.OLDOLDOL.js`, "");
  sizes = await buildPage(BUILT);
});
test.after.always(() => rmSync(BUILT, { recursive: true, force: true }));

/** JavaScript and CSS of a first visit, gzipped. */
const FIRST_VISIT_BYTES = 60 * 1024;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/** Serves a folder as the page's assets alone. */
async function serve(t: ExecutionContext, folder: string): Promise<string> {
  const handler = createPageHandler(folder);
  const server = createServer((request, response) => {
    if (!handler(request, response)) response.writeHead(418).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function fetchBytes(url: string, encoding: string): Promise<{ response: Response; length: number }> {
  const response = await fetch(url, { headers: { "Accept-Encoding": encoding } });
  await response.arrayBuffer();
  return { response, length: Number(response.headers.get("content-length")) };
}

test("the page has the headers that block foreign scripts, and is revalidated", async (t) => {
  const url = await serve(t, BUILT);
  const { headers, status } = await fetch(url);
  t.is(status, 200);
  t.is(headers.get("content-security-policy"), POLICY);
  t.is(headers.get("referrer-policy"), "no-referrer");
  t.is(headers.get("x-dns-prefetch-control"), "off");
  t.is(headers.get("x-content-type-options"), "nosniff");
  t.is(headers.get("cache-control"), "no-cache");
  t.is(headers.get("content-type"), "text/html; charset=utf-8");
});

test("assets are the same in every encoding and never change under their name", async (t) => {
  const url = await serve(t, BUILT);
  const html = await (await fetch(url)).text();
  const paths = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => `${url}${path}`);
  t.true(paths.length >= 2, html);
  for (const path of paths) {
    t.regex(path, /\.[0-9A-Z]{8}\.(?:js|css|svg)$/);
    const plain = await fetchBytes(path, "identity");
    const zipped = await fetchBytes(path, "gzip");
    const brotli = await fetchBytes(path, "gzip, br");
    t.is(plain.response.headers.get("content-encoding"), null);
    t.is(zipped.response.headers.get("content-encoding"), "gzip");
    t.is(brotli.response.headers.get("content-encoding"), "br");
    // The main script is a single import, which does not compress.
    t.true(plain.length < 100 || (brotli.length < zipped.length && zipped.length < plain.length));
    for (const { response } of [plain, zipped, brotli]) {
      t.is(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
      t.is(response.headers.get("vary"), "Accept-Encoding");
      t.is(response.headers.get("x-content-type-options"), "nosniff");
    }
    const head = await fetch(path, { method: "HEAD", headers: { "Accept-Encoding": "identity" } });
    t.is(Number(head.headers.get("content-length")), plain.length);
    t.is(await head.text(), "");
  }
});

test("every encoding decompresses to the plain file", (t) => {
  for (const name of readdirSync(BUILT, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:js|css|html)$/.test(name)) continue;
    const plain = readFileSync(`${BUILT}/${name}`);
    t.true(gunzipSync(readFileSync(`${BUILT}/${name}.gz`)).equals(plain), name);
    t.true(brotliDecompressSync(readFileSync(`${BUILT}/${name}.br`)).equals(plain), name);
  }
});

test("a first visit loads at most 60 KB of JavaScript and CSS", (t) => {
  const total = sizes.values().reduce((sum, size) => sum + size, 0);
  t.true(total <= FIRST_VISIT_BYTES, `${total} bytes: ${JSON.stringify([...sizes])}`);
});

test("a build removes the assets of an earlier one", (t) => {
  t.false(existsSync(`${BUILT}/assets/main.OLDOLDOL.js`));
  t.true(existsSync(`${BUILT}/index.html.br`));
});

test("if the page is not built, its address says how to build it", async (t) => {
  const url = await serve(t, temporaryFolder(t));
  const response = await fetch(url);
  t.is(response.status, 503);
  t.regex(await response.text(), /make page/);
});

test("an asset of another version is 404, and other methods are refused", async (t) => {
  const url = await serve(t, BUILT);
  const gone = await fetch(`${url}/assets/main.AAAAAAAA.js`);
  t.is(gone.status, 404);
  t.regex(await gone.text(), /Reload the page/);
  for (const path of ["/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/", "/assets/index.html"])
    t.not((await fetch(`${url}${path}`)).headers.get("cache-control"), "public, max-age=31536000, immutable", path);
  const posted = await fetch(url, { method: "POST", body: "a=1" });
  t.is(posted.status, 405);
  t.is(posted.headers.get("allow"), "GET, HEAD");
});

test("the service serves the page on the API's address alone, and other paths still belong to the API", async (t) => {
  t.is((await fetch(`${service.apiUrl}/`)).headers.get("content-security-policy"), POLICY);
  t.is((await fetch(`${service.apiUrl}/index`)).status, 404);
  t.is((await fetch(`${service.postUrl}/`)).headers.get("content-security-policy"), null);
  t.is((await get(service, "/1/logs")).status, 200);
});
