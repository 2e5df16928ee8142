import test from "ava";
import kafkajs from "kafkajs";
import { readFileSync } from "node:fs";

import { createMetrics } from "../../src/monitoring/metrics.ts";
import { freePorts } from "../../infra/engines/ports.ts";
import { KINDS, realEngines } from "../support/engine-kinds.ts";
import { elasticsearchUrl, kafkaBrokers } from "../support/engines.ts";
import { startTcpProxy } from "../chaos/tcp-proxy.ts";
import {
  environmentOf,
  get,
  KEY,
  LOG,
  post,
  postOnce,
  serviceOf,
  startService,
  type Service,
} from "../support/service.ts";
import { type Readiness, readinessOf } from "../support/readiness.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/**
 * Parses text in the Prometheus format into samples by name with labels. Throws on an invalid line.
 */
function parseMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || /^# (HELP|TYPE) [a-z]\w* .+$/.test(line)) continue;
    const [, name, value] = /^([a-z]\w*(?:\{(?:[a-z]\w*="[^"\\\n]*",?)+\})?) (\S+)$/i.exec(line) ?? [];
    if (name === undefined || samples.has(name)) throw new Error(`no sample, or one twice: ${line}`);
    samples.set(name, Number(value));
  }
  return samples;
}

async function metricsOf(url: string): Promise<Map<string, number>> {
  return parseMetrics(await (await fetch(`${url}/metrics`)).text());
}

test("the service is ready only from the end of its start to the request to stop, in which it still serves", async (t) => {
  const [port] = await freePorts(1);
  const environment = environmentOf("embedded", temporaryFolder(t));
  const ops = `http://127.0.0.1:${port}`;
  let starting: Awaited<ReturnType<typeof readinessOf>> | null = null;
  const show = async () => void (starting = await readinessOf(ops));
  const service = await startService({ ...environment, LOGGIA_OPS: `127.0.0.1:${port}` }, undefined, { show });
  t.teardown(() => service.close());
  t.is(starting!.response.status, 503);
  t.like(starting!.readiness, { status: "not ready", why: "the service is starting" });
  const { response, readiness } = await readinessOf(ops);
  t.is(response.status, 200);
  t.false("why" in readiness);
  service.announceStop();
  for (const url of [ops, service.apiUrl, service.postUrl]) {
    const stopping = await readinessOf(url);
    t.is(stopping.response.status, 503);
    t.like(stopping.readiness, { status: "not ready", why: "the service is stopping" });
  }
  t.is((await post(service, { text: "late" })).status, 201);
  t.is((await get(service, `/1/logs/${LOG}/events`)).status, 200);
});

for (const kind of KINDS) {
  test(`${kind}: both listeners are live and ready, without credentials`, async (t) => {
    const { apiUrl, postUrl } = await serviceOf(t, kind);
    for (const url of [apiUrl, postUrl]) {
      const live = await fetch(`${url}/health/live`);
      t.is(live.status, 200);
      t.deepEqual(await live.json(), { status: "live" });
      const { response, readiness } = await readinessOf(url);
      t.is(response.status, 200);
      t.is(readiness.status, "ready");
      t.deepEqual(Object.keys(readiness.dependencies), ["bus", "store", "catalog"]);
      t.is(response.headers.get("Cache-Control"), "no-cache, no-store");
    }
  });

  test(`${kind}: metrics count events and name no user or log`, async (t) => {
    t.timeout(600_000);
    const postAll = async (service: Service) => [
      (await post(service, { text: "Hello", source: "the-source", user: "carla" })).status,
      (await post(service, { text: "Hello again" })).status,
      (await post(service, { text: "" })).status,
      (await post(service, { text: "no", apikey: "lg_wrong-and-secret" })).status,
    ];
    let service = await serviceOf(t, kind);
    let statuses = await postAll(service);
    // A post that a cluster did not confirm in time would spoil the figures of a service.
    const most = kind === "cluster" ? 5 : 1;
    for (let attempt = 1; attempt < most && statuses.includes(503); attempt++) {
      service = await serviceOf(t, kind);
      statuses = await postAll(service);
    }
    t.deepEqual(statuses, [201, 201, 400, 401]);
    const { apiUrl, postUrl } = service;
    await until(async () => Number((await get(service, `/1/logs/${LOG}/events`)).headers.get("X-Total-Count")) === 3, {
      what: "three events in the store",
    });
    await get(service, `/1/logs/${LOG}/query?query=GET+events+GROUPBY+DAY`);
    await get(service, "/nothing/here?secret=hunter2");

    await until(async () => (await metricsOf(apiUrl)).get("loggia_pipeline_lag_records") === 0, { what: "no lag" });
    for (const url of [apiUrl, postUrl]) {
      const text = await (await fetch(`${url}/metrics`)).text();
      const metrics = parseMetrics(text);
      const atLeast = (name: string, least: number) =>
        t.true((metrics.get(name) ?? Number.NaN) >= least, `${name} is ${metrics.get(name)}`);
      t.is(metrics.get('loggia_posts_total{outcome="accepted"}'), 2);
      t.is(metrics.get('loggia_posts_total{outcome="bad_event"}'), 1);
      t.is(metrics.get('loggia_posts_total{outcome="unauthorized"}'), 1);
      t.is(metrics.get("loggia_post_events_total"), 2);
      t.is(metrics.get("loggia_posts_waiting"), 0);
      t.is(metrics.get("loggia_pipeline_stored_total"), 3);
      t.is(metrics.get("loggia_pipeline_lag_seconds"), 0);
      t.is(metrics.get("loggia_pipeline_lag_events"), 0);
      t.is(metrics.get("loggia_dead_letters_open"), 0);
      t.is(metrics.get('loggia_dead_letters_total{stage="index"}'), 0);
      t.is(metrics.get("loggia_pipeline_batch_events_sum"), 3);
      t.is(
        metrics.get('loggia_pipeline_batch_events_bucket{le="+Inf"}'),
        metrics.get("loggia_pipeline_batch_events_count"),
      );
      atLeast('loggia_bus_append_seconds_count{ok="true"}', 1);
      atLeast('loggia_store_write_seconds_count{what="events"}', 1);
      t.is(metrics.get('loggia_store_events_total{outcome="done"}'), 3);
      atLeast('loggia_query_seconds_count{kind="list",ok="true"}', 1);
      atLeast('loggia_query_seconds_count{kind="group",ok="true"}', 1);
      atLeast('loggia_http_requests_total{route="/1/logs/:log/events",method="GET",status="200"}', 1);
      atLeast('loggia_http_requests_total{route="none",method="GET",status="404"}', 1);
      t.is(metrics.get('loggia_refused_total{reason="failures"}'), 0);
      t.is(metrics.get("loggia_replay_running"), 0);
      t.is(metrics.get('loggia_connections_cut_total{reason="unread"}'), 0);
      atLeast("process_resident_memory_bytes", 1_000_000);
      atLeast("process_cpu_seconds_total", 0.01);
      t.true(metrics.has("nodejs_eventloop_lag_p99_seconds"));
      for (const secret of [KEY, LOG, "lg_wrong", "hunter2", "the-source", "carla", "ann@example.org"]) {
        t.false(text.includes(`"${secret}`), secret);
      }
    }
  });

  test(`${kind}: with an address of their own, metrics are served there alone`, async (t) => {
    const service = await startService({ ...environmentOf(kind, temporaryFolder(t)), LOGGIA_OPS: "127.0.0.1:0" });
    t.teardown(() => service.close());
    const own = `http://127.0.0.1:${service.monitoring?.port}`;
    t.true((await metricsOf(own)).has("loggia_posts_waiting"));
    t.is((await readinessOf(own)).response.status, 200);
    t.is((await fetch(`${own}/health/live`)).status, 200);
    t.is((await fetch(`${own}/1/logs`)).status, 404);
    for (const url of [service.apiUrl, service.postUrl]) {
      t.is((await fetch(`${url}/metrics`)).status, 404);
      t.is((await readinessOf(url)).response.status, 200);
    }
  });
}

test("the documentation lists each metric, and no other", async (t) => {
  const environment = {
    LOGGIA_SMTP: "smtp://127.0.0.1:9",
    LOGGIA_MAIL_FROM: "loggia@example.org",
    // Metrics of listeners exist only if one is set.
    LOGGIA_SYSLOG: `udp://127.0.0.1:0/${LOG}`,
  };
  const service = await startService({ ...environmentOf("embedded", temporaryFolder(t)), ...environment });
  t.teardown(() => service.close());
  // Reported from the first check on.
  await until(async () => (await metricsOf(service.apiUrl)).has("loggia_pipeline_lag_records"), { what: "the lag" });
  const text = await (await fetch(`${service.apiUrl}/metrics`)).text();
  const cluster = createMetrics();
  cluster.watchKeys(() => ({ keys: 0, size_bytes: 0, forgotten: 0 }));
  const namesIn = (metrics: string): string[] =>
    [...metrics.matchAll(/^# TYPE (loggia_\w+) /gm)].map(([, name = ""]) => name);
  const exported = [...namesIn(text), ...namesIn(await cluster.text()).filter((name) => name.includes("_keys_"))];
  const operations = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const rows = operations.split("\n").filter((line) => line.startsWith("| `loggia_"));
  const documented = rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
  t.deepEqual(documented.toSorted(), exported.toSorted());
});

test("a failing store makes the API not ready, and posting stays ready", async (t) => {
  const service = await serviceOf(t, "embedded");
  await service.ports.store[Symbol.asyncDispose]();
  await until(async () => (await fetch(`${service.apiUrl}/health/ready`)).status === 503, {
    what: "the API not to be ready",
  });
  const { response, readiness } = await readinessOf(service.apiUrl);
  t.is(response.headers.get("Retry-After"), "1");
  const { status, dependencies } = readiness;
  t.is(status, "not ready");
  t.deepEqual(dependencies["store"], { ok: false, needed: true, why: "The embedded store is unavailable" });
  t.deepEqual(dependencies["bus"], { ok: true, needed: true });
  t.is((await fetch(`${service.apiUrl}/health/live`)).status, 200);
  t.is((await readinessOf(service.postUrl)).response.status, 200);
});

test("only GET and HEAD are allowed, on the exact paths alone", async (t) => {
  const { apiUrl, postUrl } = await serviceOf(t, "embedded");
  for (const url of [apiUrl, postUrl]) {
    const head = await fetch(`${url}/health/live?x=1`, { method: "HEAD" });
    t.deepEqual([head.status, await head.text()], [200, ""]);
    const put = await fetch(`${url}/metrics`, { method: "POST", body: "x" });
    t.deepEqual([put.status, put.headers.get("Allow"), put.headers.get("Connection")], [405, "GET, HEAD", "close"]);
    for (const path of ["/health", "/health/", "/healthy", "/metrics/x", "/constructor"]) {
      t.is((await fetch(url + path)).status, 404, path);
    }
  }
});

if (realEngines) {
  test("a Kafka that answers and accepts no appends makes posting not ready, until it accepts them again", async (t) => {
    t.timeout(600_000);
    const environment = environmentOf("cluster", temporaryFolder(t));
    const service = await startService(environment);
    t.teardown(() => service.close());
    const listenerAt = async (url: string) => {
      const { status, dependencies } = (await readinessOf(url)).readiness;
      return { status, bus: dependencies["bus"] };
    };
    const isRefused = async () => (await post(service, { text: "No" })).status === 503;
    const topic = `${environment["LOGGIA_NAMESPACE"]}.events`;
    await postOnce(service, { text: "Hello" });
    await takeOnly(topic, { oldest_ms: 0 });
    await until(isRefused, { what: "a post to be refused" });
    // A refusal counts for 10 s, which a slow machine may need for one look.
    const [posting, api] = await until(
      async () => {
        if (!(await isRefused())) return null;
        const found = [await listenerAt(service.postUrl), await listenerAt(service.apiUrl)] as const;
        return found.some(({ bus }) => bus?.ok) ? null : found;
      },
      { what: "the refusal to be reported" },
    );
    t.is(posting.status, "not ready");
    t.is(api.status, "ready");
    for (const { bus } of [posting, api]) {
      t.false(bus?.ok);
      const why =
        "Kafka did not store the records within \\d+ ms: The timestamp of the message is out of acceptable range";
      t.regex(bus?.why ?? "", new RegExp(`^failed the last append: ${why}$`));
    }
    t.deepEqual([posting.bus?.needed, api.bus?.needed], [true, false]);

    await takeOnly(topic, { oldest_ms: 3_600_000 });
    await until(async () => (await post(service, { text: "Yes" })).status === 201, { what: "a post to be accepted" });
    for (const url of [service.postUrl, service.apiUrl]) {
      t.deepEqual(await listenerAt(url), { status: "ready", bus: { ok: true, needed: true } });
    }
  });
}

if (realEngines) {
  test("readiness follows the roles of the process, at its own address too, while the store is unreachable", async (t) => {
    t.timeout(300_000);
    const proxy = await startTcpProxy(elasticsearchUrl().replace("http://", ""));
    t.teardown(() => proxy[Symbol.asyncDispose]());
    const shared = environmentOf("cluster", temporaryFolder(t));
    const ready = new Map<string, string>();
    // The first creates the accounts, without which a process that posts is not ready.
    for (const roles of ["api", "pipeline", "post", "post,api"]) {
      const elasticsearch = { ELASTICSEARCH_URL: `http://${proxy.address}` };
      const settings = { LOGGIA_ROLES: roles, LOGGIA_OPS: "127.0.0.1:0" };
      const service = await startService({ ...shared, ...elasticsearch, ...settings });
      t.teardown(() => service.close());
      const own = `http://127.0.0.1:${service.monitoring?.port}`;
      ready.set(roles, `${own}/health/ready`);
      t.is((await readinessOf(own)).response.status, 200, roles);
    }
    proxy.set("stalled");
    for (const roles of ["pipeline", "api", "post,api"]) {
      const url = ready.get(roles)!;
      await until(async () => (await fetch(url)).status === 503, { what: `${roles} not to be ready` });
    }
    // The store does not answer in time. On a machine that stalls, neither may the bus.
    const { status, dependencies } = await until(
      async () => {
        const answer = await fetch(ready.get("post")!);
        const { dependencies } = (await answer.json()) as Readiness;
        const isStoreAlone = dependencies["bus"]?.ok && !dependencies["store"]?.ok;
        return isStoreAlone ? { status: answer.status, dependencies } : null;
      },
      { what: "the store to be reported" },
    );
    t.is(status, 200);
    t.deepEqual([dependencies["store"]?.ok, dependencies["store"]?.needed], [false, false]);
    t.deepEqual(dependencies["bus"], { ok: true, needed: true });
    proxy.set("open");
    for (const [roles, url] of ready) {
      await until(async () => (await fetch(url)).status === 200, { what: `${roles} to be ready again` });
    }
  });
}

/**
 * Makes a topic refuse older records: with 0, every record that is not of the broker's own
 * millisecond.
 */
async function takeOnly(topic: string, { oldest_ms }: { oldest_ms: number }): Promise<void> {
  const admin = new kafkajs.Kafka({ brokers: kafkaBrokers(), logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const configEntries = [{ name: "message.timestamp.before.max.ms", value: String(oldest_ms) }];
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries };
    await admin.alterConfigs({ validateOnly: false, resources: [resource] });
  } finally {
    await admin.disconnect();
  }
}
