import test from "ava";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { pino } from "pino";

import { parseLogKey } from "../../../src/events/event.ts";
import { LoggiaError } from "../../../src/errors.ts";
import { startLoggia } from "../../../src/main.ts";
import { readSettings } from "../../../src/settings.ts";
import {
  AUTHORIZATION,
  environmentOf,
  get,
  KEY,
  LOG,
  postTimesFor,
  serviceOf,
  startService,
  STOPPED,
} from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { bestOf_ms, busy_ms } from "../../support/turns.ts";
import { until } from "../../support/until.ts";
import { eventsOf, listenWith, send } from "../posting.ts";
import { hookPath, makeHook } from "./hooks-made.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const MB = 1024 * 1024;

function signed(secret: string, body: string | Buffer): Record<string, string> {
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return { ...JSON_TYPE, apikey: "", "X-GitHub-Event": "ping", "X-Hub-Signature-256": `sha256=${signature}` };
}

test.serial("a hook posts to its own log alone, and a key does not replace a signature", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { catalog } = service.ports;
  const other = parseLogKey("other")!;
  const owner = catalog.accounts()[0]!.id;
  const { apiKey } = await catalog.createLog({ key: other, display: "Other", owner });
  const secret = await makeHook(service, "github", { signature: "github" });
  const othersSecret = (await catalog.createHook(other, { name: "github", signature: "github" })).secret!;
  const reading = await catalog.createApiKey(parseLogKey(LOG)!, "read-only");
  const body = '{"zen":"z"}';
  const refusals = new Set<string>();
  const refused = async (path: string, headers: Record<string, string>, status = 401): Promise<void> => {
    const posted = await send(service, path, body, {
      headers: { ...JSON_TYPE, apikey: "", "X-GitHub-Event": "ping", ...headers },
    });
    t.is(posted.status, status, `${path} ${JSON.stringify(headers)}`);
    if (status === 401) refusals.add(posted.text);
  };
  await refused(hookPath("github"), signed(othersSecret, body));
  await refused("/1/logs/other/hooks/github", signed(secret, body));
  await refused(hookPath("none"), signed(secret, body));
  await refused("/1/logs/nowhere/hooks/github", signed(secret, body));
  await refused("/1/logs/nowhere/hooks/github", {});
  await refused(hookPath("github"), {});
  await refused(hookPath("github"), { "X-API-Key": KEY });
  await refused("/hooks/github", { "X-API-Key": KEY });
  await refused("/hooks/github", signed(secret, body));
  t.is(refusals.size, 1, "all of it in the same words");
  await refused(hookPath("json"), { "X-API-Key": apiKey.secret });
  await refused("/1/logs/other/hooks/json", { "X-API-Key": KEY });
  await refused(hookPath("json"), { "X-API-Key": reading.secret }, 403);
  await refused(hookPath("unknown"), { "X-API-Key": KEY }, 404);
  t.is((await send(service, hookPath("github"), body, { headers: signed(secret, body) })).status, 200);
  t.is((await eventsOf(service, 1)).length, 1);
  const others = await get(service, "/1/logs/other/events");
  t.deepEqual(others.body, []);
});

test.serial("a secret is shown when it is generated, and never in responses or the service's own log", async (t) => {
  const folder = temporaryFolder(t);
  let logged = "";
  const log = pino({ level: "trace" }, { write: (line: string) => (logged += line) });
  const settings = readSettings(environmentOf("embedded", folder));
  const loggia = await startLoggia(settings, log, postTimesFor(settings));
  t.teardown(() => loggia.close());
  const [apiUrl, postUrl] = [`http://127.0.0.1:${loggia.api?.port}`, `http://127.0.0.1:${loggia.post?.port}`];
  const manage = async (method: string, path: string, json?: object) => {
    const response = await fetch(`${apiUrl}/manage/1/logs/${LOG}/hooks${path}`, {
      method,
      headers: { Authorization: AUTHORIZATION, ...(json && JSON_TYPE) },
      ...(json && { body: JSON.stringify(json) }),
    });
    return await response.text();
  };
  const chosen = "a-secret-of-our-own";
  const drawn = (JSON.parse(await manage("POST", "", { name: "github", signature: "github" })) as { secret: string })
    .secret;
  t.regex(drawn, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const answers = [
    await manage("POST", "", { name: "sentry", secret: chosen }),
    await manage("POST", "", { name: "sentry", secret: chosen }),
    await manage("POST", "", { name: "bad", signature: "standard", secret: chosen }),
    await manage("PUT", "/sentry", { kind: "sentry", signature: "sentry", secret: chosen }),
    await manage("PUT", "/sentry", { kind: "sentry", signature: "sentry" }),
    await manage("PUT", "/github", { signature: "github" }),
    await manage("GET", ""),
    await manage("GET", "/sentry"),
    await manage("GET", "/github"),
  ];
  const post = (headers: Record<string, string>, body = "{") =>
    send({ postUrl }, hookPath("github"), body, { headers });
  for (const headers of [
    signed(chosen, "{"),
    signed(drawn, "{"),
    { ...signed(drawn, "{"), "Content-Encoding": "gzip" },
  ]) {
    answers.push((await post(headers)).text);
  }
  t.is((await post(signed(drawn, '{"zen":"kept by a change"}'), '{"zen":"kept by a change"}')).status, 200);
  await loggia.ports.catalog[Symbol.asyncDispose]();
  answers.push((await post(signed(drawn, '{"zen":"x"}'), '{"zen":"x"}')).text);
  for (const text of [...answers, logged]) {
    t.false(text.includes(drawn) || text.includes(drawn.slice(6)), text);
    t.false(text.includes(chosen), text);
  }
});

test.serial("guesses at a chosen secret are limited; a generated one cannot be guessed and is not", async (t) => {
  const environment = { ...environmentOf("embedded", temporaryFolder(t)), LOGGIA_RATE_FAILURES: "5" };
  const service = await startService(environment, STOPPED);
  t.teardown(() => service.close());
  const chosen = "eight-ch";
  const drawn = await makeHook(service, "github", { signature: "github" });
  await makeHook(service, "chosen", { signature: "github", secret: chosen });
  const body = '{"zen":"z"}';
  const status = async (name: string, secret: string) =>
    (await send(service, hookPath(name), body, { headers: { ...signed(secret, body), Connection: "close" } })).status;
  for (let i = 0; i < 20; i++) t.is(await status("github", `guess ${i}`), 401);
  t.is(await status("github", drawn), 200);
  t.is(await status("chosen", chosen), 200, "those were no guesses");
  const statuses: number[] = [];
  for (let i = 0; i < 8; i++) statuses.push(await status("chosen", `guess ${i}`));
  t.deepEqual(new Set(statuses), new Set([401]), "another status would tell that the hook exists");
  t.is(await status("chosen", chosen), 401, "a right one as a wrong one");
  t.is((await send(service, hookPath("json"), "{}", { headers: { ...JSON_TYPE, apikey: KEY } })).status, 200);
  t.is(await status("github", drawn), 200, "the drawn one waits for nobody");
});

test.serial("compression bombs are refused, and never unpacked before authentication", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "github", { signature: "github" });
  const bomb = gzipSync(Buffer.alloc(100 * MB, " "));
  const gzip = { "Content-Encoding": "gzip" };
  const status = async (path: string, body: Buffer, headers: Record<string, string>) =>
    (await send(service, path, body, { headers })).status;
  t.is(await status(hookPath("json"), bomb, { ...JSON_TYPE, ...gzip }), 413);
  t.is(await status(hookPath("github"), bomb, { ...signed("wrong", bomb), ...gzip }), 401);
  t.is(await status(hookPath("github"), bomb, { ...signed(secret, bomb), ...gzip }), 413);
  const zipped = gzipSync('{"zen":"z"}');
  t.is(await status(hookPath("github"), zipped, { ...signed(secret, zipped), ...gzip }), 200);
  const large = Buffer.alloc(26 * MB, " ");
  t.is(await status(hookPath("github"), large, signed(secret, large)), 413);
  t.is((await eventsOf(service, 1)).length, 1);
});

test.serial("unauthenticated requests with large announced bodies take no room from others", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "github", { signature: "github" });
  const waiting = Array.from({ length: 40 }, (_, n) => {
    const headers = n % 2 === 0 ? { "Content-Length": String(25 * MB) } : { "Transfer-Encoding": "chunked" };
    const open = request(`${service.postUrl}${hookPath("github")}`, {
      method: "POST",
      agent: false,
      headers: { ...signed("wrong", ""), ...headers },
    });
    open.on("error", () => {});
    open.write("{");
    return open;
  });
  await Promise.all(waiting.map(async (open) => await once(open, "socket")));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const body = '{"zen":"z"}';
  t.is((await send(service, hookPath("github"), body, { headers: signed(secret, body) })).status, 200);
  for (const open of waiting) open.destroy();
});

test.serial("strangers at many networks deny signed deliveries to nobody", async (t) => {
  t.timeout(120_000);
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "github", { signature: "github" });
  const { port } = service.post!;
  const zeros = Buffer.alloc(MB, " ");
  let closed = 0;
  /** Sends all but the end of a large body with a wrong signature. */
  const attack = async (localAddress: string): Promise<void> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    t.teardown(() => socket.destroy());
    socket.on("error", () => {}).resume();
    const end = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    void end.then(() => (closed += 1));
    await once(socket, "connect");
    socket.write(
      `POST ${hookPath("github")} HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: sha256=${"0".repeat(64)}\r\n` +
        `Content-Length: ${24 * MB}\r\n\r\n`,
    );
    for (let n = 0; n < 23 && !socket.destroyed; n++) {
      const drained = new Promise<void>((resolve) => socket.once("drain", () => resolve()));
      if (!socket.write(zeros)) await Promise.race([drained, end]);
    }
  };
  const attacks = Array.from({ length: 12 }, (_, n) => attack(`127.0.${n % 6}.${2 + n}`));
  await until(() => Promise.resolve(closed > 0 || null), { what: "more bodies than memory" });
  for (const size_bytes of [10, 50_000, 4 * MB]) {
    const body = JSON.stringify({ zen: "z".repeat(size_bytes) });
    const began_ms = performance.now();
    const { status } = await send(service, hookPath("github"), body, { headers: signed(secret, body) });
    t.is(status, 200, `${size_bytes} bytes, after ${performance.now() - began_ms} ms`);
  }
  await Promise.all(attacks);
});

test.serial("deep, malformed and hostile bodies become events or an error, in bounded time", async (t) => {
  const service = await serviceOf(t, "embedded");
  await makeHook(service, "filled", {
    template: {
      text: "{__proto__.polluted}{constructor.name}{a.constructor}{toString}{length}{a.length}{a.0.__proto__}",
      tags: ["{a}", "{$.__proto__}"],
      each: "a.items",
      id: "{hasOwnProperty}",
      value: "{valueOf}",
      data: "{$.a}",
    },
  });
  const depth = 100_000;
  const nest = (before: string, after: string) => `${before.repeat(depth)}1${after.repeat(depth)}`;
  const bodies = [
    nest("[", "]"),
    nest('{"a":', "}"),
    `{"alerts":[${nest('{"labels":', "}")}]}`,
    `{"data":{"event":${nest('{"exception":', "}")}}}`,
    `{"repository":${nest('{"owner":', "}")}}`,
    '{"__proto__":{"polluted":"yes"},"constructor":{"name":"c"},"toString":"t","a":{"constructor":1,"length":2}}',
    '{"alerts":[{"status":{"toString":1},"labels":{"__proto__":{"polluted":1},"constructor":"c","severity":["x"]},"startsAt":{},"endsAt":{"valueOf":1}}]}',
    '{"alerts":[null,1,"x",[],{}]}',
    '{"action":{"toString":null},"sender":{"login":{}},"data":{"event":{"exception":{"values":[null,{"stacktrace":{"frames":[null,{}]}}]},"tags":[null,[1],{"key":"constructor","value":"v"}]}}}',
    '{"action":"constructor","review":{"state":"__proto__"},"alert":{"rule":{"severity":"constructor"}}}',
    '{"a":{"items":[[],null,{"__proto__":1},"x"]}}',
  ];
  const kinds = ["github", "alertmanager", "sentry", "json", "filled"];
  let accepted = 0;
  for (const body of bodies) {
    for (const kind of kinds) {
      for (const event of kind === "github"
        ? ["pull_request_review", "code_scanning_alert", "__proto__", "toString"]
        : [""]) {
        const took_ms = await bestOf_ms(5_000, async () => {
          const { status, text } = await send(service, hookPath(kind), body, {
            headers: { ...JSON_TYPE, "X-GitHub-Event": event },
          });
          t.true(status === 200 || status === 400, `${kind} ${event} ${status} ${text} ${body.slice(0, 100)}`);
          if (status === 200) accepted += (JSON.parse(text) as { accepted: number }).accepted;
        });
        t.true(took_ms < 5_000, `${kind} ${body.slice(0, 100)}`);
      }
    }
  }
  t.is(({} as { polluted?: unknown }).polluted, undefined);
  const events = await eventsOf(service, accepted);
  t.is(events.length, accepted);
  for (const { text } of events) t.notRegex(text, /native code|function|\[object/);
});

test.serial("a huge number of alerts and of template items is processed in bounded time", async (t) => {
  t.timeout(600_000);
  const service = await serviceOf(t, "embedded");
  await makeHook(service, "filled", { template: { each: "alerts", text: "{$.big}{$.all}{n}", data: "{$.alerts}" } });
  const bodyOf = (count: number, name: string): string => {
    const alerts = Array.from({ length: count }, (_, n) => ({
      n,
      fingerprint: `${name}${n}`,
      status: "firing",
      labels: { a: "b" },
    }));
    return JSON.stringify({ big: "x".repeat(MB), all: { x: "y".repeat(MB) }, alerts });
  };
  const [few, many] = [10_000, 50_000];
  for (const name of ["alertmanager", "filled"]) {
    const timeOf = async (count: number, attempt: number): Promise<number> => {
      const body = bodyOf(count, `${count}-${attempt}-`);
      const began_ms = busy_ms();
      const { status, text } = await send(service, hookPath(name), body, { headers: JSON_TYPE });
      const took_ms = busy_ms() - began_ms;
      t.is(status, 200, text);
      t.deepEqual(JSON.parse(text), { accepted: count });
      return took_ms;
    };
    let [few_ms, many_ms] = [Infinity, Infinity];
    for (let attempt = 0; attempt < 3; attempt++) few_ms = Math.min(few_ms, await timeOf(few, attempt));
    // Five times as many take five times as long; if each looked at all others, 25 times.
    const limit_ms = 12 * few_ms;
    for (let attempt = 0; attempt < 3 && many_ms >= limit_ms; attempt++)
      many_ms = Math.min(many_ms, await timeOf(many, attempt));
    t.true(many_ms < limit_ms, `${name}: ${many} took ${many_ms} ms, and ${few} ${few_ms} ms`);
    t.log(`${name}: ${few} in ${Math.round(few_ms)} ms, ${many} in ${Math.round(many_ms)} ms`);
  }
  const again = await send(service, hookPath("alertmanager"), bodyOf(many, `${many}-0-`), { headers: JSON_TYPE });
  t.deepEqual(JSON.parse(again.text), { accepted: 0 });
});

test.serial("a full queue refuses the request with 503 and Retry-After, and nothing of it is stored", async (t) => {
  const service = await serviceOf(t, "embedded");
  const secret = await makeHook(service, "github", { signature: "github" });
  let full = true;
  const stored: number[] = [];
  const listener = await listenWith(t, service, {
    idempotency: {
      post: async (batch, append) => ({
        ...batch,
        first: await append({ first: "0".repeat(24) as never, created: 0 }),
      }),
    },
    submitLines(lines) {
      if (full) return Promise.reject(new LoggiaError("overloaded", "Too many posts are waiting"));
      stored.push(lines);
      return Promise.resolve("0".repeat(24));
    },
  });
  const body = '{"zen":"z"}';
  const headers = { ...signed(secret, body), "X-GitHub-Delivery": "one" };
  const alerts = JSON.stringify({ alerts: [{ status: "firing" }, { status: "firing", fingerprint: "2" }] });
  const post = async () => [
    await send(listener, hookPath("github"), body, { headers }),
    await send(listener, hookPath("alertmanager"), alerts, { headers: JSON_TYPE }),
  ];
  for (const refused of await post()) {
    t.is(refused.status, 503);
    t.is(refused.headers.get("retry-after"), "1");
  }
  t.deepEqual(stored, []);
  full = false;
  for (const taken of await post()) t.is(taken.status, 200, "and the sender's next attempt is taken");
  t.deepEqual(stored, [1, 2]);
});
