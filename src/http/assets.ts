import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { join } from "node:path";

import { hasBody } from "./body.ts";
import { COMMON_HEADERS } from "./headers.ts";
import { endAfter } from "./response-tracker.ts";

/** Answers requests for the page and its assets. Returns whether the request was one of them. */
export type PageHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A file of the page with its precompressed encodings. */
type Asset = {
  readonly type: string;
  readonly plain: Buffer;
  readonly encoded: ReadonlyMap<"br" | "gzip", Buffer>;
};

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Content Security Policy of the page, which loads only from its own origin and inserts event texts
 * only as text nodes.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const PAGE_HEADERS: Readonly<OutgoingHttpHeaders> = Object.freeze({
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  // Events hold links from producers; some browsers would resolve their host names in advance.
  "X-DNS-Prefetch-Control": "off",
});

const ASSETS = "/assets/";

/**
 * Serves the page that `infra/page.ts` built into `folder`: `/` is revalidated at each load, and
 * `/assets/…` never changes, because the names contain a hash of the content. All files are read
 * once, at startup. Without a built page, `/` answers 503 and says how to build it.
 */
export function createPageHandler(folder: string): PageHandler {
  const assets = readAssets(folder);
  return (request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    if (path !== "/" && !path.startsWith(ASSETS)) return false;
    const close = hasBody(request);
    // The unread rest of a body would be parsed as the next request.
    if (close) endAfter(request);
    if (request.method !== "GET" && request.method !== "HEAD") {
      send(response, 405, { Allow: "GET, HEAD" }, "This address answers only GET and HEAD.\n", close);
    } else if (path === "/") {
      sendPage(request, response, assets.get("index.html"), close);
    } else {
      sendAsset(request, response, assets.get(path.slice(1)), close);
    }
    return true;
  };
}

function sendPage(request: IncomingMessage, response: ServerResponse, page: Asset | undefined, close: boolean): void {
  if (page === undefined) {
    send(response, 503, {}, "The page is not built. Run `make page`, then start the service again.\n", close);
    return;
  }
  sendFile(request, response, page, { "Cache-Control": "no-cache", "Content-Security-Policy": PAGE_POLICY }, close);
}

function sendAsset(request: IncomingMessage, response: ServerResponse, asset: Asset | undefined, close: boolean): void {
  if (asset === undefined) {
    send(response, 404, {}, "The page has no such file. Reload the page to get the files of this version.\n", close);
    return;
  }
  sendFile(request, response, asset, { "Cache-Control": "public, max-age=31536000, immutable" }, close);
}

function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { type, plain, encoded }: Asset,
  headers: OutgoingHttpHeaders,
  close: boolean,
): void {
  const encoding = chooseEncoding(request.headers["accept-encoding"], encoded);
  const payload = (encoding === null ? undefined : encoded.get(encoding)) ?? plain;
  response.writeHead(200, {
    ...PAGE_HEADERS,
    ...headers,
    "Content-Type": type,
    "Content-Length": payload.length,
    Vary: "Accept-Encoding",
    ...(encoding !== null && { "Content-Encoding": encoding }),
    ...(close && { Connection: "close" }),
  });
  response.end(payload);
}

function send(
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  text: string,
  close: boolean,
): void {
  response.writeHead(status, {
    ...COMMON_HEADERS,
    ...PAGE_HEADERS,
    ...headers,
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...(close && { Connection: "close" }),
  });
  response.end(text);
}

/** Returns the first of `br` and `gzip` that is accepted with a quality above 0, or null. */
export function chooseEncoding(
  accepted: string | undefined,
  encoded: ReadonlyMap<"br" | "gzip", Buffer>,
): "br" | "gzip" | null {
  const accepts = new Map<string, number>();
  for (const part of (accepted ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim());
    const quality = parameters.find((each) => each.startsWith("q="))?.slice(2) ?? "1";
    if (name !== "") accepts.set(name, Number(quality));
  }
  for (const encoding of ["br", "gzip"] as const) {
    const quality = accepts.get(encoding) ?? accepts.get("*") ?? 0;
    if (encoded.has(encoding) && quality > 0) return encoding;
  }
  return null;
}

/** Reads the files of `folder`, by path. Returns an empty map if the folder does not exist. */
function readAssets(folder: string): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  for (const path of listFiles(folder)) {
    const type = TYPES[path.slice(path.lastIndexOf(".") + 1)];
    if (type === undefined) continue;
    const encoded = new Map<"br" | "gzip", Buffer>();
    for (const [encoding, suffix] of [["br", "br"] as const, ["gzip", "gz"] as const]) {
      const bytes = readIfExists(join(folder, `${path}.${suffix}`));
      if (bytes !== null) encoded.set(encoding, bytes);
    }
    assets.set(path, { type, plain: readFileSync(join(folder, path)), encoded });
  }
  return assets;
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function readIfExists(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
