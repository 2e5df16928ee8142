import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";

import { startLoggia } from "../../src/main.ts";
import { readSettings } from "../../src/settings.ts";
import { CLASSES, createShopEvents, SAVED_QUERIES } from "./shop.ts";
import type { ShopEvent } from "./shop.ts";

export const ACCOUNT = { email: "ann@shop.example", password: "a shop's password" } as const;
export const LOG = "shop";
const AUTHORIZATION = {
  Authorization: `Basic ${Buffer.from(`${ACCOUNT.email}:${ACCOUNT.password}`).toString("base64")}`,
};
const KEY = "key-of-the-shop-0000";
const BATCH = 5_000;
const FOUND_TIMEOUT_MS = 60_000;
/** Time before the end at which alerts were turned on. */
const ALERTS_ON_BEFORE_MS = 3 * 3_600_000;

/** A service on embedded engines in a temporary folder, with the week of a web shop. */
export type ShopService = AsyncDisposable & {
  readonly url: string;
  /** Posts events and waits until they can be read. */
  readonly post: (events: readonly ShopEvent[]) => Promise<void>;
  /** Calls the API as the admin. A form is sent as such, anything else as JSON. */
  readonly ask: (method: "GET" | "POST" | "PUT", path: string, sent?: object) => Promise<unknown>;
};

/** @param end end of the week */
export async function startShop(end: number): Promise<ShopService> {
  const folder = mkdtempSync(join(tmpdir(), "loggia-screenshots-"));
  const environment = {
    LOGGIA_API: process.env["LOGGIA_API"] ?? "127.0.0.1:0",
    LOGGIA_POST: process.env["LOGGIA_POST"] ?? "127.0.0.1:0",
    LOGGIA_DATA: folder,
    LOGGIA_ADMIN: `${ACCOUNT.email}:${ACCOUNT.password}`,
    LOGGIA_LOG: `${LOG}:${KEY}`,
  };
  const loggia = await startLoggia(readSettings(environment), pino({ level: "error" }));
  const url = `http://127.0.0.1:${loggia.api?.port}`;
  const postUrl = `http://127.0.0.1:${loggia.post?.port}`;
  const service: ShopService = {
    url,
    async post(events) {
      let last = "";
      for (let from = 0; from < events.length; from += BATCH)
        last = await postBatch(postUrl, events.slice(from, from + BATCH));
      const path = `${url}/1/logs/${LOG}/events/${last}`;
      const deadline_ms = performance.now() + FOUND_TIMEOUT_MS;
      while ((await fetch(path, { headers: AUTHORIZATION })).status !== 200) {
        if (performance.now() > deadline_ms) throw new Error("The events could not be found in time");
        await delay(100);
      }
    },
    async ask(method, path, sent) {
      const isForm = sent instanceof URLSearchParams;
      const body = sent === undefined || isForm ? (sent ?? null) : JSON.stringify(sent);
      const headers = { ...AUTHORIZATION, ...(!isForm && { "Content-Type": "application/json" }) };
      const response = await fetch(url + path, { method, headers, body });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text}`);
      return text === "" ? null : JSON.parse(text);
    },
    async [Symbol.asyncDispose]() {
      await loggia.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
  await fill(service, end);
  return service;
}

/** Creates classes before the events, and alerts before the last ones: past events raise none. */
async function fill(service: ShopService, end: number): Promise<void> {
  const events = createShopEvents(end);
  const alertsOn = end - ALERTS_ON_BEFORE_MS;
  for (const each of CLASSES) await service.ask("POST", `/manage/1/logs/${LOG}/classFilters`, each);
  for (const each of SAVED_QUERIES)
    await service.ask("POST", `/manage/1/logs/${LOG}/queries`, { ...each, tz: "Europe/Berlin" });
  await service.ask("POST", "/1/logs", new URLSearchParams({ key: "new-shop", display: "New shop" }));
  await service.post(events.filter(({ created }) => created < alertsOn));
  for (const key of ["error", "payment-failed"]) {
    const options = { alert: true, notify: false, hide: false };
    await service.ask("PUT", `/manage/1/logs/${LOG}/classFilters/${key}/options`, options);
  }
  await service.post(events.filter(({ created }) => created >= alertsOn));
  const query = encodeURIComponent("GET events.error WHERE source = 'payments' SORT created DESC TAKE 3 COLUMNS(id)");
  const found = (await service.ask("GET", `/1/logs/${LOG}/query?query=${query}`)) as { id: string }[];
  for (const { id } of found) await service.ask("POST", `/1/logs/${LOG}/bookmarks`, new URLSearchParams({ id }));
}

/** @returns the id of the last event */
async function postBatch(postUrl: string, events: readonly ShopEvent[]): Promise<string> {
  const response = await fetch(`${postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(events),
  });
  if (!response.ok) throw new Error(`Posting returned ${response.status}: ${await response.text()}`);
  const { items, rejected } = (await response.json()) as { items: { id?: string }[]; rejected: number };
  if (rejected > 0) throw new Error(`${rejected} events were rejected: ${JSON.stringify(items.find(({ id }) => !id))}`);
  return items.at(-1)?.id ?? "";
}
