import test from "ava";
import { pino } from "pino";

import { LoggiaError } from "../../src/errors.ts";
import { createHealth } from "../../src/monitoring/health.ts";
import { createHolds } from "../../src/monitoring/holds.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });
const well = { ping: () => Promise.resolve() };
const taken = { fault: () => null };
const none = createHolds({ log });

test("each dependency is named, and the required ones decide", async (t) => {
  const away = { ping: () => Promise.reject(new LoggiaError("store_unavailable", "Nobody answers at h:1")) };
  const health = createHealth({
    ports: { bus: well, store: away, catalog: well },
    appends: taken,
    holds: none,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log,
  });
  t.deepEqual(await health.ready(["bus", "store"]), {
    status: "not ready",
    dependencies: {
      bus: { ok: true, needed: true },
      store: { ok: false, needed: true, why: "Nobody answers at h:1" },
      catalog: { ok: true, needed: false },
    },
  });
  t.is((await health.ready(["bus", "catalog"])).status, "ready");
});

test("details of an unexpected failure are not public", async (t) => {
  const broken = { ping: () => Promise.reject(new TypeError("password is hunter2")) };
  const { dependencies } = await createHealth({
    ports: { bus: broken, store: well, catalog: well },
    appends: taken,
    holds: none,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log,
  }).ready([]);
  t.deepEqual(dependencies.bus, { ok: false, needed: false, why: "unexpected error; see the log of the service" });
});

test("an unresponsive dependency is not waited for, nor pinged again meanwhile", async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let asked = 0;
  const slow = { ping: () => ((asked += 1), promise) };
  const health = createHealth({
    ports: { bus: slow, store: well, catalog: well },
    appends: taken,
    holds: none,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log,
    timeout_ms: 20,
  });
  const answers = await Promise.all(Array.from({ length: 50 }, () => health.ready(["bus"])));
  for (const { status, dependencies } of answers) {
    t.is(status, "not ready");
    t.deepEqual(dependencies.bus, { ok: false, needed: true, why: "did not answer within 20 ms" });
  }
  t.is(asked, 1);
  resolve();
  await until(async () => (await health.ready(["bus"])).status === "ready", { what: "the dependency to respond" });
  t.is(asked, 2);
});

test("a bus that answers and accepts no appends is not ready for posting, and ready for others", async (t) => {
  const why = "failed the last append: its disk is full";
  const health = createHealth({
    ports: { bus: well, store: well, catalog: well },
    appends: { fault: () => why },
    holds: none,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log,
  });
  const posting = await health.ready(["bus", "appends"]);
  t.is(posting.status, "not ready");
  t.deepEqual(posting.dependencies.bus, { ok: false, needed: true, why });
  const api = await health.ready(["bus", "store", "catalog"]);
  t.is(api.status, "ready");
  t.deepEqual(api.dependencies.bus, { ok: false, needed: false, why });
});

test("an unreachable bus is reported as such, whatever was appended before", async (t) => {
  const away = { ping: () => Promise.reject(new LoggiaError("bus_unavailable", "Nobody answers at h:1")) };
  const appends = { fault: () => "failed the last append" };
  const health = createHealth({
    ports: { bus: away, store: well, catalog: well },
    appends,
    holds: none,
    deliveries: () => null,
    comparison: () => null,
    process: () => null,
    log,
  });
  const { status, dependencies } = await health.ready(["bus"]);
  t.is(status, "not ready");
  t.deepEqual(dependencies.bus, { ok: false, needed: true, why: "Nobody answers at h:1" });
});
