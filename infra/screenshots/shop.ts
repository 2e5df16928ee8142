import { createRandom } from "./random.ts";
import type { Random } from "./random.ts";

/** An event of a batch. Its fields are described in `docs/batches.md`. */
export type ShopEvent = {
  readonly text: string;
  readonly created: number;
  readonly source: string;
  readonly tags: readonly string[];
  readonly user?: string;
  readonly value?: number;
  readonly data?: string;
  readonly link?: string;
  readonly geo?: { readonly lat: number; readonly lon: number };
  readonly attributes?: Readonly<Record<string, unknown>>;
};

/** A class filter of the management API. */
export type ShopClass = {
  readonly key: string;
  readonly display: string;
  readonly color: string;
  readonly weight: number;
  readonly tag?: string;
  readonly source?: string;
  readonly text?: string;
};

export const CLASSES: readonly ShopClass[] = [
  { key: "error", display: "Error", color: "crimson", weight: 90, tag: "error" },
  { key: "payment-failed", display: "Payment failed", color: "orange", weight: 80, tag: "declined" },
  { key: "slow", display: "Slow", color: "slateblue", weight: 50, tag: "slow" },
  { key: "login-failed", display: "Login failed", color: "mediumvioletred", weight: 40, text: "login failed" },
  { key: "order", display: "Order", color: "seagreen", weight: 30, text: "placed order" },
  { key: "login", display: "Login", color: "dodgerblue", weight: 20, tag: "login" },
  { key: "health", display: "Health check", color: "gray", weight: 10, tag: "health" },
];

/** Queries that users run repeatedly. */
export const SAVED_QUERIES = [
  { name: "Declined payments by user", query: "GET events.payment-failed GROUPBY user SORT COUNT DESC", shared: true },
  { name: "Slow requests", query: "GET events WHERE @took > 1000 SORT @took DESC", shared: true },
  { name: "Orders by day", query: "GET events.order GROUPBY DAY COLUMNS(KEY, COUNT, SUM)", shared: false },
] as const;

const HOUR_MS = 3_600_000;
const DAYS = 7;
const EVENTS_OF_AN_HOUR = 320;
/** Start before the end, and duration, of a payment failure. */
const INCIDENT = { before_ms: 5.2 * HOUR_MS, length_ms: 0.9 * HOUR_MS } as const;

const USERS = (
  "nora.lind li.wei amara.okafor jonas.weber ines.duarte yuki.tanaka paul.martin sofia.rossi omar.haddad eva.novak " +
  "mia.jensen raj.patel ana.silva tom.baker lena.vogel hugo.moreau zoe.clark ivan.petrov maria.garcia ben.cohen"
).split(" ");
const GOODS = "kettle,desk lamp,rain jacket,headphones,tent for two,coffee mill,wool blanket,bike light,notebook".split(
  ",",
);
const PLACES = [
  { lat: 52.52, lon: 13.405 },
  { lat: 48.857, lon: 2.352 },
  { lat: 51.507, lon: -0.128 },
  { lat: 40.713, lon: -74.006 },
  { lat: 41.39, lon: 2.17 },
  { lat: 59.33, lon: 18.07 },
  { lat: 35.68, lon: 139.69 },
];
const STACK = `PaymentError: provider "northpay" did not answer within 5000 ms
    at Northpay.charge (/srv/payments/src/northpay.ts:118:13)
    at async retry (/srv/payments/src/retry.ts:24:16)
    at async Checkout.pay (/srv/payments/src/checkout.ts:77:5)
    at async handle (/srv/payments/src/server.ts:41:20)
Caused by: Error: connect ETIMEDOUT 203.0.113.40:443
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1607:16)

request   POST /charges
provider  northpay
attempt   3 of 3`;

/** Creates a week of events of a web shop, oldest first and the same for the same end. */
export function createShopEvents(end: number, seed = 20): readonly ShopEvent[] {
  const random = createRandom(seed);
  const events: ShopEvent[] = [];
  const start = end - DAYS * 24 * HOUR_MS;
  for (let hour = start; hour < end; hour += HOUR_MS) {
    const count = Math.round(EVENTS_OF_AN_HOUR * trafficAt(hour) * (0.9 + random.next() * 0.2));
    for (let i = 0; i < count; i++)
      events.push(...createVisit(random, hour + Math.floor(random.next() * HOUR_MS), end));
  }
  for (let moment = start; moment < end; moment += 60_000 * 10) events.push(createHealthCheck(random, moment));
  return events.filter(({ created }) => created < end).toSorted((a, b) => a.created - b.created);
}

/** Returns the traffic by time of day: low at night, highest in the afternoon and evening. */
function trafficAt(moment: number): number {
  const hour = (moment % (24 * HOUR_MS)) / HOUR_MS;
  return 0.25 + 0.75 * Math.sin(((hour - 3) / 24) * Math.PI) ** 2;
}

function createVisit(random: Random, created: number, end: number): ShopEvent[] {
  const kind = random.next();
  if (kind < 0.46) return [createRequest(random, created)];
  if (kind < 0.6) return [createSearch(random, created)];
  if (kind < 0.7) return [createLogin(random, created)];
  const isIncident = created > end - INCIDENT.before_ms && created < end - INCIDENT.before_ms + INCIDENT.length_ms;
  return createOrder(random, created, isIncident);
}

function createRequest(random: Random, created: number): ShopEvent {
  const isSlow = random.next() < 0.03;
  const took = isSlow ? random.between(1_100, 6_400) : random.between(4, 240);
  const status = random.next() < 0.012 ? random.pick([500, 502, 503]) : random.pick([200, 200, 200, 200, 304, 404]);
  const method = random.pick(["GET", "GET", "GET", "POST"]);
  const path = random.pick(["/", "/cart", "/item/", "/item/", "/account", "/api/stock"]);
  const full = path === "/item/" ? `/item/${random.between(100, 999)}` : path;
  return {
    text: `${method} ${full} ${status} in ${took} ms`,
    created,
    source: random.pick(["web-1", "web-1", "web-2"]),
    tags: ["http", ...(status >= 500 ? ["error"] : []), ...(isSlow ? ["slow"] : [])],
    attributes: {
      "http.status": status,
      "http.method": method,
      "http.path": full,
      took,
      version: versionAt(random, status),
    },
  };
}

function versionAt(random: Random, status: number): string {
  return random.next() < (status >= 500 ? 0.8 : 0.35) ? "4.12.0" : "4.11.3";
}

function createSearch(random: Random, created: number): ShopEvent {
  const goods = random.pick(GOODS);
  const hits = random.between(0, 48);
  return {
    text: `searched "${goods}", ${hits} found`,
    created,
    source: "search",
    tags: ["search"],
    user: random.pick(USERS),
    attributes: { hits, took: random.between(8, 90), index: "goods-7" },
  };
}

function createLogin(random: Random, created: number): ShopEvent {
  const user = random.pick(USERS);
  const failed = random.next() < 0.08;
  return {
    text: failed ? `login failed for ${user}: wrong password` : `${user} signed in`,
    created,
    source: "accounts",
    tags: ["login"],
    user,
    geo: random.pick(PLACES),
    attributes: { browser: random.pick(["Firefox", "Chrome", "Safari"]), attempt: failed ? random.between(1, 3) : 1 },
  };
}

/** Creates an order and its payment, which fails occasionally, and mostly during the incident. */
function createOrder(random: Random, created: number, isIncident: boolean): ShopEvent[] {
  const user = random.pick(USERS);
  const order = random.between(70_000, 79_999);
  const value = Math.round(random.between(900, 24_000) * (1 + random.next())) / 100;
  const about = { user, value, geo: random.pick(PLACES), link: `https://shop.example/orders/${order}` };
  const took = random.between(120, 900);
  const placed: ShopEvent = {
    ...about,
    text: `${user} placed order ${order}: ${random.pick(GOODS)}`,
    created,
    source: "checkout",
    tags: ["checkout"],
    attributes: { order, items: random.between(1, 6), took },
  };
  const paid = { ...about, created: created + took, source: "payments", attributes: { order, provider: "northpay" } };
  if (random.next() < (isIncident ? 0.62 : 0.004)) {
    const attributes = { ...paid.attributes, "http.status": 504, took: 5_000, attempt: 3 };
    const text = `charge for order ${order} failed: northpay did not answer`;
    return [placed, { ...paid, text, tags: ["payment", "error"], attributes, data: STACK }];
  }
  if (random.next() < 0.035) {
    const reason = random.pick(["card expired", "limit reached", "3-D Secure was cancelled"]);
    const attributes = { ...paid.attributes, "http.status": 402, took: random.between(300, 1_900), reason };
    return [
      placed,
      { ...paid, text: `card of ${user} declined: ${reason}`, tags: ["payment", "declined"], attributes },
    ];
  }
  const attributes = { ...paid.attributes, "http.status": 200, took: random.between(180, 1_200) };
  return [placed, { ...paid, text: `order ${order} paid, ${value.toFixed(2)} €`, tags: ["payment"], attributes }];
}

function createHealthCheck(random: Random, created: number): ShopEvent {
  return {
    text: "GET /health 200",
    created,
    source: random.pick(["web-1", "web-2"]),
    tags: ["http", "health"],
    attributes: { "http.status": 200, "http.method": "GET", "http.path": "/health", took: random.between(1, 4) },
  };
}
