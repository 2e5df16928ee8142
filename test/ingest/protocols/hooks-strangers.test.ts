import test, { type ExecutionContext } from "ava";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";

import type { Catalog } from "../../../src/catalog/catalog.ts";
import type { LoggiaError } from "../../../src/errors.ts";
import { createIngestMemory } from "../../../src/ingest/kit/ingest-memory.ts";
import { admitHook } from "../../../src/ingest/protocols/hooks/admit.ts";
import { KnownSenders } from "../../../src/ingest/kit/known-senders.ts";
import { GuessLimiter } from "../../../src/auth/requests/guess-limiter.ts";
import { createRateLimiter } from "../../../src/ratelimit/rate-limiter.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG, serviceOf, startService, STOPPED } from "../../support/service.ts";
import type { Service } from "../../support/service.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { makeHook } from "./hooks-made.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const MB = 1024 * 1024;
const MEGABYTE = Buffer.alloc(MB);
/** Logs and hooks in every state that a stranger might want to know. */
const STATES = [
  ["nowhere", "github"],
  ["nowhere", "drawn"],
  [LOG, "unknown"],
  [LOG, "github"],
  [LOG, "drawn"],
  [LOG, "chosen"],
  [LOG, "unsigned"],
  [LOG, "standard"],
  [LOG, "gitlab"],
] as const;
const HEX = "0".repeat(64);
const HEADERS: Readonly<Record<string, Record<string, string>>> = {
  nothing: {},
  github: { "x-hub-signature-256": `sha256=${HEX}` },
  malformed: { "x-hub-signature-256": "1" },
  standard: {
    "webhook-id": "1",
    "webhook-timestamp": String(Math.floor(Date.now() / 1000)),
    "webhook-signature": "v1,AAAA",
  },
  gitlab: { "x-gitlab-token": "guess" },
  sentry: { "sentry-hook-signature": HEX },
  "a wrong key": { "x-api-key": "wrong-key-of-a-log" },
  both: { "x-api-key": "wrong-key-of-a-log", "x-hub-signature-256": `sha256=${HEX}` },
};

async function makeHooks(service: Service): Promise<void> {
  await makeHook(service, "drawn", { signature: "github" });
  await makeHook(service, "chosen", { signature: "github", secret: "eight-ch" });
  await makeHook(service, "unsigned");
  await makeHook(service, "standard", { signature: "standard" });
  await makeHook(service, "gitlab", { signature: "gitlab" });
}

/** Returns what a request to a hook leads to: each call that takes time or memory, and the error. */
async function stepsOf(
  catalog: Catalog,
  [log, name]: (typeof STATES)[number],
  headers: Record<string, string>,
  size: number,
): Promise<readonly string[]> {
  const steps: string[] = [];
  const watched = new Proxy(catalog, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== "function") return value;
      return (...words: unknown[]): unknown => {
        if (/refresh|receiving|apiKey/.test(String(property))) steps.push(String(property));
        return (value as (...words: unknown[]) => unknown).apply(target, words);
      };
    },
  });
  const memory = createIngestMemory();
  for (const kind of ["unverified", "proven"] as const) {
    const budget = memory[kind];
    const enter = budget.enter.bind(budget);
    budget.enter = (owner) => {
      steps.push(`enter ${kind} ${owner}`);
      const share = enter(owner);
      const tryHold = share.tryHold.bind(share);
      share.tryHold = (size_bytes) => {
        steps.push(`hold ${size_bytes}`);
        return tryHold(size_bytes);
      };
      return share;
    };
  }
  const body = Readable.from(Array.from({ length: size / MB }, () => MEGABYTE));
  const request = Object.assign(body, { headers }) as unknown as IncomingMessage;
  const limiter = createRateLimiter();
  const given = { name, logOfPath: log, key: headers["x-api-key"] ?? "" };
  const peer = { address: "192.0.2.1", connection: null };
  try {
    await admitHook(request, given, peer, {
      catalog: watched,
      scheduler: new Scheduler(),
      limiter,
      guesses: new GuessLimiter(),
      memory,
      knownSenders: new KnownSenders(),
    });
    steps.push("admitted");
  } catch (error) {
    const { code, message } = error as LoggiaError;
    steps.push(`${code} ${message}`);
  }
  return steps;
}

test("a request to a hook takes the same steps, whether log and hook exist or not", async (t) => {
  const service = await serviceOf(t, "embedded");
  await makeHooks(service);
  const compare = async (kind: string, headers: Record<string, string>, size: number): Promise<void> => {
    const all = await Promise.all(STATES.map((state) => stepsOf(service.ports.catalog, state, headers, size)));
    for (const [i, steps] of all.entries()) {
      // A key is checked before or after the signature.
      t.deepEqual(steps.toSorted(), all[0]!.toSorted(), `${kind}, ${size} bytes: ${STATES[i]!.join("/")}`);
    }
    t.false(all[0]!.includes("admitted"));
  };
  const requests = Object.entries(HEADERS).flatMap(([kind, headers]) =>
    [0, MB, 26 * MB].map((size) => compare(kind, headers, size)),
  );
  await Promise.all(requests);
});

/** Returns all bytes of an answer but its date. */
function exchange(url: string, head: string, body: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("error", reject);
    socket.on("end", () => resolve(text.replace(/Date: .*\r\n/, "")));
    socket.end(`${head}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
  });
}

/** Starts a service that takes this many wrong credentials a minute. */
async function serviceWithGuesses(t: ExecutionContext, guesses: number): Promise<Service> {
  const environment = environmentOf("embedded", temporaryFolder(t));
  const service = await startService({ ...environment, LOGGIA_RATE_FAILURES: String(guesses) }, STOPPED);
  t.teardown(() => service.close());
  return service;
}

test("strangers get the same answer to the byte, also after many guesses", async (t) => {
  const service = await serviceWithGuesses(t, 5);
  await makeHooks(service);
  const answersTo = async (headers: Record<string, string>, body: string): Promise<ReadonlySet<string>> => {
    const lines = Object.entries({ Host: "x", "Content-Type": "application/json", ...headers });
    const answers = STATES.map(([log, name]) => {
      const head = `POST /1/logs/${log}/hooks/${name} HTTP/1.1\r\n${lines.map(([field, value]) => `${field}: ${value}\r\n`).join("")}`;
      return exchange(service.postUrl, head, body);
    });
    return new Set(await Promise.all(answers));
  };
  const { "a wrong key": _, both: __, ...unkeyed } = HEADERS;
  const compare = async (kind: string, headers: Record<string, string>, body: string): Promise<void> => {
    const answers = await answersTo(headers, body);
    t.is(answers.size, 1, `${kind}: ${[...answers].join("\n")}`);
    t.regex([...answers][0]!, /^HTTP\/1\.1 401 /);
  };
  const requests = Object.entries(unkeyed).flatMap(([kind, headers]) =>
    ["", "x".repeat(100_000)].map((body) => compare(kind, headers, body)),
  );
  await Promise.all(requests);
  for (let i = 0; i < 8; i++) {
    const guess = { "X-Hub-Signature-256": `sha256=${i.toString(16).padStart(64, "0")}` };
    const answers = await answersTo(guess, "{}");
    t.is(answers.size, 1);
    t.regex([...answers][0]!, /^HTTP\/1\.1 401 /);
  }
  // These guesses leave no trace on keys either.
  const keys = await answersTo({ "X-API-Key": "wrong-key-of-a-log" }, "{}");
  t.is(keys.size, 1);
  t.regex([...keys][0]!, /^HTTP\/1\.1 401 /);
});

test("posting and managing tell nothing about logs of others either", async (t) => {
  const service = await serviceWithGuesses(t, 100_000);
  const { catalog } = service.ports;
  const owner = await catalog.createAccount({ email: "bob@example.org", password: "correct horse", admin: false });
  await catalog.createLog({ key: "private" as never, display: "Private", owner: owner.id });
  const answerTo = async (url: string, method: string, headers: Record<string, string>): Promise<string> => {
    const body = method === "GET" || method === "DELETE" ? null : "{}";
    const response = await fetch(url, { method, headers: { "Content-Type": "application/json", ...headers }, body });
    return `${response.status} ${(await response.text()).replaceAll(/private|nothere/g, "LOG")}`;
  };
  const paths: (readonly [base: string, path: string, methods: readonly string[]])[] = [
    [service.postUrl, "/1/logs/LOG/events", ["POST", "GET", "PUT"]],
    [service.postUrl, "/1/logs/LOG/users", ["POST"]],
    [service.postUrl, "/1/logs/LOG/_bulk", ["POST"]],
    [service.apiUrl, "/1/logs/LOG/events", ["GET", "POST"]],
    [service.apiUrl, "/1/logs/LOG/query?query=GET%20events", ["GET"]],
    [service.apiUrl, "/1/logs/LOG/export", ["GET"]],
    [service.apiUrl, "/1/logs/LOG/fields", ["GET"]],
    [service.apiUrl, "/1/logs/LOG/bookmarks", ["GET", "POST"]],
    [service.apiUrl, "/1/logs/LOG/classFilters", ["GET"]],
  ];
  for (const path of ["", "/shares", "/apiKeys", "/classFilters", "/hooks", "/hooks/github", "/users", "/queries"]) {
    paths.push([service.apiUrl, `/manage/1/logs/LOG${path}`, ["GET", "POST", "PUT", "PATCH", "DELETE"]]);
  }
  const callers = [{}, { Authorization: AUTHORIZATION }, { apikey: KEY }, { "X-API-Key": "wrong-key" }];
  const comparisons = paths.map(async ([base, path, methods]) => {
    const requests = methods.flatMap((method) => callers.map((headers) => [method, headers] as const));
    const compared = requests.map(async ([method, headers]) => {
      const [there, missing] = await Promise.all(
        ["private", "nothere"].map((log) => answerTo(base + path.replace("LOG", log), method, headers)),
      );
      t.is(there, missing, `${method} ${path} ${JSON.stringify(headers)}`);
    });
    await Promise.all(compared);
  });
  await Promise.all(comparisons);
});
