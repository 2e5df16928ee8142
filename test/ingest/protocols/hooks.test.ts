import test from "ava";
import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";

import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import { readPayload } from "../../../src/ingest/protocols/hooks/payload.ts";
import type { Payload } from "../../../src/ingest/protocols/hooks/payload.ts";
import { KEY, LOG, serviceOf } from "../../support/service.ts";
import { dataOf, eventsOf, send } from "../posting.ts";
import { hookPath, makeHook } from "./hooks-made.ts";

const JSON_TYPE = { "Content-Type": "application/json" };

test("built-in hooks work without being created, wherever the key is", async (t) => {
  const service = await serviceOf(t, "embedded");
  const ping = JSON.stringify({ zen: "Design for failure.", repository: { full_name: "octo/repo" } });
  const github = { "X-GitHub-Event": "ping" };
  const ways: readonly (readonly [string, string, Record<string, string>])[] = [
    [`/hooks/github?apikey=${KEY}`, ping, { ...github, ...JSON_TYPE }],
    [`/keys/${KEY}/hooks/GitHub/`, ping, { ...github, ...JSON_TYPE }],
    [hookPath("github"), ping, { ...github, ...JSON_TYPE, Authorization: `Bearer ${KEY}` }],
    [`/hooks/github?apikey=${KEY}`, ping, { ...github, "Content-Type": "" }],
    [
      `${hookPath("github")}?apikey=${KEY}`,
      new URLSearchParams({ payload: ping }).toString(),
      { ...github, "Content-Type": "application/x-www-form-urlencoded" },
    ],
  ];
  for (const [path, body, headers] of ways) {
    const { status, text } = await send(service, path, body, { headers });
    t.is(status, 200, `${path}: ${text}`);
    t.deepEqual(JSON.parse(text), { accepted: 1 });
  }
  const zipped = await send(service, "/hooks/github", gzipSync(ping), {
    headers: { ...github, ...JSON_TYPE, "Content-Encoding": "gzip", "X-API-Key": KEY },
  });
  t.is(zipped.status, 200);
  t.is((await send(service, "/hooks/json", '{"text":"by PUT"}', { method: "PUT" })).status, 200);
  const events = await eventsOf(service, 7);
  t.is(events.filter(({ text }) => text === "GitHub's webhook of octo/repo is set up: Design for failure.").length, 6);
});

test("an alert makes an event when it fires and when it resolves; a repeated notification adds none", async (t) => {
  const service = await serviceOf(t, "embedded");
  const alert = {
    status: "firing",
    labels: { alertname: "DiskFull", severity: "critical", job: "node", instance: "db-1:9100" },
    annotations: {
      summary: "Disk of db-1 is full",
      description: "98 % of /var are used",
      runbook_url: "https://runbook",
    },
    startsAt: "2026-11-20T10:00:00.123456789Z",
    endsAt: "0001-01-01T00:00:00Z",
    generatorURL: "http://prometheus/graph?g0.expr=disk",
    fingerprint: "1a30ba71cca2921f",
  };
  const warning = { ...alert, labels: { alertname: "Slow", severity: "warning" }, annotations: {}, fingerprint: "2b" };
  const group = {
    version: "4",
    groupKey: '{}:{alertname="DiskFull"}',
    status: "firing",
    receiver: "loggia",
    externalURL: "http://alertmanager:9093",
    truncatedAlerts: 0,
    groupLabels: {},
  };
  const notify = async (alerts: readonly object[]) =>
    JSON.parse(
      (await send(service, hookPath("alertmanager"), JSON.stringify({ ...group, alerts }), { headers: JSON_TYPE }))
        .text,
    ) as object;
  t.deepEqual(await notify([alert, warning]), { accepted: 2 });
  t.deepEqual(await notify([alert, warning]), { accepted: 0 }, "a repeated notification");
  const resolved = { ...alert, status: "resolved", endsAt: "2026-11-20T10:30:00Z" };
  t.deepEqual(await notify([resolved, warning]), { accepted: 1 }, "one of the group is over");
  const again = { ...alert, startsAt: "2026-11-20T11:00:00Z" };
  t.deepEqual(await notify([again]), { accepted: 1 }, "it fires once more");
  const events = await eventsOf(service, 4);
  t.is(events.length, 4);
  const full = events.find(({ tags, created }) => tags.includes("firing") && created.includes("1795168800123"));
  t.like(full, {
    text: "DiskFull: Disk of db-1 is full",
    source: "node",
    link: "http://prometheus/graph?g0.expr=disk",
    tags: ["fatal", "firing"],
    data: true,
  });
  t.like(full!.attributes, {
    "labels.alertname": "DiskFull",
    "labels.instance": "db-1:9100",
    "annotations.runbook_url": "https://runbook",
    fingerprint: "1a30ba71cca2921f",
    receiver: "loggia",
    groupKey: group.groupKey,
    time_ns: "1795168800123456789",
  });
  t.false("endsAt" in full!.attributes!);
  t.is(await dataOf(service, full!.id), "98 % of /var are used");
  t.like(
    events.find(({ tags }) => tags.includes("resolved")),
    { text: "DiskFull: Disk of db-1 is full" },
  );
  t.regex(events.find(({ tags }) => tags.includes("resolved"))!.created, /1795170600000/);
  t.like(
    events.find(({ text }) => text === "Slow"),
    { tags: ["warn", "firing"], source: "loggia" },
  );
});

test("the value measured by Grafana is the event's, and its signature is verified", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "grafana", { signature: "grafana" });
  const alert = {
    status: "firing",
    labels: { alertname: "High memory usage", grafana_folder: "ops" },
    annotations: { summary: "Memory is high" },
    startsAt: "2026-11-20T10:00:00+01:00",
    endsAt: "0001-01-01T00:00:00Z",
    values: { B: 44.25 },
    panelURL: "https://grafana/d/1?viewPanel=2",
    fingerprint: "c6eadffa33fcdf37",
  };
  const body = JSON.stringify({ receiver: "loggia", orgId: 1, status: "firing", alerts: [alert] });
  const hmac = (text: string) => createHmac("sha256", secret).update(text).digest("hex");
  const post = async (headers: Record<string, string>) =>
    (await send(service, hookPath("grafana"), body, { headers: { ...JSON_TYPE, apikey: "", ...headers } })).status;
  t.is(await post({ "X-Grafana-Alerting-Signature": hmac(body) }), 200);
  const now = String(Math.floor(Date.now() / 1000));
  t.is(
    await post({ "X-Grafana-Alerting-Signature": hmac(`${now}:${body}`), "X-Grafana-Alerting-Timestamp": now }),
    200,
  );
  t.is(await post({ "X-Grafana-Alerting-Signature": hmac(body), "X-Grafana-Alerting-Timestamp": now }), 401);
  t.is(await post({ "X-Grafana-Alerting-Signature": hmac(`1:${body}`), "X-Grafana-Alerting-Timestamp": "1" }), 401);
  const events = await eventsOf(service, 1);
  t.is(events.length, 1);
  t.like(events[0], { value: 44.25, text: "High memory usage: Memory is high", link: alert.panelURL });
});

test("Sentry's errors are stored with their stack, issues and metrics with their state", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = "a".repeat(64);
  await makeHook(service, "sentry", { secret });
  const error = {
    event_id: "e4874d664c3540c1a32eab185f12c5ab",
    title: "ReferenceError: heck is not defined",
    level: "error",
    platform: "javascript",
    datetime: "2026-11-20T10:00:00.5Z",
    project: 1,
    url: "https://sentry.io/api/0/projects/test-org/front-end/events/e487/",
    web_url: "https://sentry.io/organizations/test-org/issues/1170820242/events/e487/",
    user: { email: "eve@example.org" },
    tags: [["browser", "Chrome 75.0.3770"]],
    exception: {
      values: [
        {
          type: "ReferenceError",
          value: "heck is not defined",
          stacktrace: {
            frames: [
              { filename: "main.js", lineno: 9 },
              { function: "blow", filename: "app.js", lineno: 4, colno: 2 },
            ],
          },
        },
      ],
    },
  };
  const issue = {
    id: "17",
    shortId: "SHOP-1",
    title: "Timeout",
    level: "warning",
    project: { slug: "shop", name: "Shop" },
    permalink: "https://sentry.io/issues/17/",
  };
  const metric = { title: "Too many errors", projects: ["shop"], date_detected: "2026-11-20T10:00:00Z" };
  const bodies: readonly (readonly [string, object])[] = [
    ["event_alert", { action: "triggered", data: { event: error, triggered_rule: "Very Important Alert Rule!" } }],
    ["issue", { action: "resolved", actor: { name: "Ann" }, data: { issue } }],
    [
      "metric_alert",
      {
        action: "critical",
        data: {
          metric_alert: metric,
          description_title: "Critical: Too many errors",
          description_text: "1000 events in the last 10 minutes",
          web_url: "https://sentry.io/alerts/1/",
        },
      },
    ],
    ["comment", { action: "created", actor: { name: "Bob" }, data: { comment: "Seen it", project_slug: "shop" } }],
    ["installation", { action: "created", data: { installation: { app: { slug: "loggia" } } } }],
  ];
  const post = async (resource: string, told: object, request: string) => {
    const body = JSON.stringify(told);
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const headers = {
      ...JSON_TYPE,
      "Request-ID": request,
      "Sentry-Hook-Resource": resource,
      "Sentry-Hook-Signature": signature,
      apikey: "",
    };
    return JSON.parse((await send(service, hookPath("sentry"), body, { headers })).text) as object;
  };
  for (const [resource, told] of bodies) t.deepEqual(await post(resource, told, resource), { accepted: 1 }, resource);
  t.deepEqual(await post("event_alert", bodies[0]![1], "another"), { accepted: 0 }, "Sentry's repeats have a new id");
  const plugin = {
    id: "134343",
    project: "shop",
    message: "This is an example",
    level: "error",
    url: "https://sentry.io/issues/134343/",
    event: { event_id: "abc", user: { username: "kim" }, tags: [["release", "1.2"]] },
  };
  await makeHook(service, "plugin", { kind: "sentry" });
  t.is((await send(service, hookPath("plugin"), JSON.stringify(plugin), { headers: JSON_TYPE })).status, 200);

  const events = new Map((await eventsOf(service, 6)).map((event) => [event.text, event]));
  const caught = events.get("ReferenceError: heck is not defined")!;
  t.like(caught, { source: "front-end", user: "eve@example.org", link: error.web_url });
  t.deepEqual(caught.tags, ["error", "event_alert", "triggered"]);
  t.like(caught.attributes, {
    triggered_rule: "Very Important Alert Rule!",
    "tags.browser": "Chrome 75.0.3770",
    resource: "event_alert",
  });
  t.is(
    await dataOf(service, caught.id),
    "ReferenceError: heck is not defined\n    at blow (app.js:4:2)\n    at ? (main.js:9)",
  );
  t.like(events.get("Issue SHOP-1 resolved: Timeout"), {
    source: "shop",
    user: "Ann",
    tags: ["info", "issue", "resolved"],
  });
  t.like(events.get("Critical: Too many errors"), { source: "shop", link: "https://sentry.io/alerts/1/", data: true });
  t.deepEqual(events.get("Critical: Too many errors")!.tags, ["fatal", "metric_alert", "critical"]);
  t.true(events.has("Bob commented on an issue: Seen it"));
  t.true(events.has("Sentry installation created"));
  t.like(events.get("This is an example"), { source: "shop", user: "kim", tags: ["error", "issue"], link: plugin.url });
});

test("any JSON is an event: its message, else a readable field, else the whole body", async (t) => {
  const service = await serviceOf(t, "embedded");
  const post = (body: string, type = "application/json") =>
    send(service, "/hooks/json?tags=build", body, { headers: { "Content-Type": type } });
  t.deepEqual(JSON.parse((await post('{"message":"as a message","level":"warn","user":{"name":"ann"}}')).text), {
    accepted: 1,
  });
  t.deepEqual(JSON.parse((await post('[{"title":"by title","n":1},{"a":{"b":2}},3]')).text), {
    accepted: 2,
    rejected: 1,
    fault: "an item of the array is not an object",
  });
  for (const text of ["plain text", "42", '"quoted"']) t.is((await post(text, "text/plain")).status, 200, text);
  t.is((await post("from=twilio&body=a+form", "application/x-www-form-urlencoded")).status, 200);
  for (const [body, type] of [
    ["", "application/json"],
    ["{", "application/json"],
    ["3", "application/json"],
    ["[1]", "application/json"],
    ["payload=%7B", "application/x-www-form-urlencoded"],
    ["", "application/x-www-form-urlencoded"],
    [" ", "text/plain"],
  ] as const) {
    t.is((await post(body, type)).status, 400, `${type} ${body}`);
  }
  const events = new Map((await eventsOf(service, 7)).map((event) => [event.text, event]));
  t.deepEqual(
    [...events.keys()].toSorted(),
    ["42", '"quoted"', "a form", "as a message", "by title", "plain text", '{"a.b":2}'].toSorted(),
  );
  t.like(events.get("as a message"), { tags: ["warn", "build"], user: "ann" });
  t.like(events.get("by title")!.attributes, { title: "by title", n: 1 });
  t.like(events.get("a form")!.attributes, { from: "twilio" });
});

test("a template maps a body to events", async (t) => {
  const service = await serviceOf(t, "embedded");
  await makeHook(service, "deploys", {
    template: {
      text: "{action} by {sender.login} on {repository.full_name}",
      tags: ["{action}", "{labels}", "deploy"],
      source: "{repository.full_name}",
      user: "{sender.login}",
      link: "{repository.html_url|$.fallback}",
      severity: "{level}",
      value: "{took_s}",
      created: "{at}",
      data: "{{{$header.x-request}}}",
      id: "{number}",
    },
  });
  const body = {
    action: "deployed",
    sender: { login: "ann" },
    repository: { full_name: "octo/repo" },
    labels: ["a b", "c", 3],
    fallback: "https://ci",
    level: "WARNING",
    took_s: "12.5",
    at: "2026-11-20T10:00:00Z",
    number: 7,
    more: { deep: true },
  };
  const post = async (told: unknown, name = "deploys") =>
    JSON.parse(
      (await send(service, hookPath(name), JSON.stringify(told), { headers: { ...JSON_TYPE, "X-Request": "r1" } }))
        .text,
    ) as object;
  t.deepEqual(await post(body), { accepted: 1 });
  t.deepEqual(await post(body), { accepted: 0 }, "its id is known");
  t.deepEqual(await post({ number: 8 }), { accepted: 1 }, "paths that lead nowhere are empty");

  await makeHook(service, "many", {
    template: { each: "data.items", text: '{$.run}: {labels."app.kubernetes.io/name"} {n}', source: "{$.run}" },
  });
  const items = [{ n: 1, labels: { "app.kubernetes.io/name": "x" } }, { n: 2 }, "three"];
  t.deepEqual(await post({ run: "r", data: { items } }, "many"), { accepted: 3 });
  t.deepEqual(await post({ run: "no list" }, "many"), { accepted: 1 }, "rather than lost");

  const events = new Map((await eventsOf(service, 6)).map((event) => [event.text.trim(), event]));
  const deployed = events.get("deployed by ann on octo/repo")!;
  t.like(deployed, { source: "octo/repo", user: "ann", link: "https://ci", value: 12.5 });
  t.deepEqual(deployed.tags, ["warn", "deployed", "a_b", "c", "3", "deploy"]);
  t.regex(deployed.created, /1795168800000/);
  t.is(await dataOf(service, deployed.id), "{r1}");
  t.like(deployed.attributes, { "more.deep": true, "sender.login": "ann", number: 7 });
  t.true(events.has("by  on"));
  t.like(events.get("r: x 1")!.attributes, { n: 1, run: "r" });
  t.like(events.get("r:  2"), { source: "r" });
  t.true(events.has("no list:"));
});

test("GitLab's token is verified as a secret, and a template makes events of its bodies", async (t) => {
  const service = await serviceOf(t, "embedded");
  const template = {
    text: "{user_name} {object_kind} {project.path_with_namespace}",
    tags: ["{$header.x-gitlab-event}"],
  };
  await makeHook(service, "gitlab", { signature: "gitlab", secret: "gitlab-token", template });
  const post = async (headers: Record<string, string>) =>
    (
      await send(
        service,
        hookPath("gitlab"),
        '{"object_kind":"push","user_name":"Ann","project":{"path_with_namespace":"a/b"}}',
        {
          headers: { ...JSON_TYPE, apikey: "", "X-Gitlab-Event": "Push Hook", ...headers },
        },
      )
    ).status;
  t.is(await post({ "X-Gitlab-Token": "gitlab-token", "Idempotency-Key": "one" }), 200);
  t.is(await post({ "X-Gitlab-Token": "gitlab-token", "Idempotency-Key": "one" }), 200);
  t.is(await post({ "X-Gitlab-Token": "gitlab-tokem" }), 401);
  t.is(await post({}), 401);
  const events = await eventsOf(service, 1);
  t.is(events.length, 1);
  t.like(events[0], { text: "Ann push a/b", tags: ["Push_Hook"] });
});

test("long texts are cut and marked", async (t) => {
  const service = await serviceOf(t, "embedded");
  await makeHook(service, "long", { template: { text: "{a}{a}", tags: ["{t}"] } });
  for (const name of ["long", "json"]) {
    const body = JSON.stringify({ a: "x".repeat(100_000), message: "y".repeat(9_000), t: ["ok"] });
    t.is((await send(service, `/1/logs/${LOG}/hooks/${name}`, body, { headers: JSON_TYPE })).status, 200);
  }
  for (const event of await eventsOf(service, 2)) {
    t.is(event.text.length, DEFAULT_LIMITS.text);
    t.true(event.tags.includes("cut"));
  }
});

test("a long form is read in a short time, whatever its fields, and its text to the limit of data", (t) => {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const read = (body: string): Payload => {
    const steps = readPayload({ body: Buffer.from(body), headers });
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  };
  const start_ms = performance.now();
  const { value, isCut } = read(`first=1&${"a&".repeat(400_000)}`);
  t.true(performance.now() - start_ms < 2_000);
  t.true(isCut);
  t.like(value, { first: "1", a: "" });
  const text = "\u{1f600}".repeat(DEFAULT_LIMITS.data);
  t.deepEqual(read(`text=${encodeURIComponent(text)}`).value, { text });
});
