import test from "ava";
import type { ExecutionContext } from "ava";

import type { TemplateSource } from "../../../src/catalog/hook-template.ts";
import { LoggiaError } from "../../../src/errors.ts";
import { HOST_CLOCK } from "../../../src/events/clock.ts";
import { parseLogKey } from "../../../src/events/event.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import { DEFAULT_LIMITS } from "../../../src/events/limits.ts";
import type { Append } from "../../../src/ingest/idempotency/idempotency.ts";
import { matchProtocol } from "../../../src/ingest/protocols/match.ts";
import { RecentIds } from "../../../src/ingest/append/recent-ids.ts";
import { FairTurns } from "../../../src/scheduling/fair-turns.ts";
import { storeEvents } from "../../../src/ingest/append/store-events.ts";
import type { StoredEvents } from "../../../src/ingest/append/store-events.ts";
import { receivedOf } from "../../support/received.ts";
import { busy_ms, holdOfBest_ms } from "../../support/turns.ts";
import { Scheduler } from "../../../src/scheduling/scheduler.ts";

const BODY_BYTES = 8 * 1024 * 1024;
const TIME = "1795668973536000000";

/** How to build a body of this many events, or of one event with this many fields. */
type Shape = {
  readonly head: string;
  readonly one: (i: number) => string;
  readonly between: string;
  readonly tail: string;
};
type Case = {
  readonly path: string;
  readonly many: Shape;
  readonly wide: Shape;
  /** The template of a hook. */
  readonly template?: TemplateSource;
};

const field = (i: number): string => `"name${i}":"value ${i}"`;
const lines = (one: (i: number) => string): Shape => ({ head: "", one, between: "\n", tail: "\n" });
const object = (head: string, tail: string): Shape => ({ head, one: field, between: ",", tail });

const CASES: Readonly<Record<string, Case>> = {
  otlp: {
    path: "/v1/logs",
    many: {
      head: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[',
      one: (i) => `{"timeUnixNano":"${TIME}","body":{"stringValue":"text ${i}"}}`,
      between: ",",
      tail: ']}],"resource":{"attributes":[]}}]}',
    },
    wide: {
      head: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"text 0"},"attributes":[',
      one: (i) => `{"key":"k${i}","value":{"intValue":"${i}"}}`,
      between: ",",
      tail: "]}]}]}]}",
    },
  },
  loki: {
    path: "/loki/api/v1/push",
    many: {
      head: '{"streams":[{"values":[',
      one: (i) => `["${TIME}","text ${i}"]`,
      between: ",",
      tail: '],"stream":{"a":"b"}}]}',
    },
    wide: object(`{"streams":[{"stream":{"a":"b"},"values":[["${TIME}","text 0",{`, "}]]}]}"),
  },
  splunk: {
    path: "/services/collector/event",
    many: lines((i) => `{"event":{"message":"text ${i}","n":${i}}}`),
    wide: object('{"event":{"message":"text 0",', "}}"),
  },
  datadog: {
    path: "/api/v2/logs",
    many: { head: "[", one: (i) => `{"message":"text ${i}","n":${i}}`, between: ",", tail: "]" },
    wide: object('[{"message":"text 0",', "}]"),
  },
  gelf: {
    path: "/gelf",
    many: lines((i) => `{"short_message":"text ${i}","_n":${i}}`),
    wide: object('{"short_message":"text 0",', "}"),
  },
  bulk: {
    path: "/_bulk",
    many: lines((i) => `{"create":{}}\n{"message":"text ${i}","n":${i}}`),
    wide: object('{"create":{}}\n{"message":"text 0",', "}\n"),
  },
  lines: {
    path: "/lines",
    many: lines((i) => `{"message":"text ${i}","n":${i}}`),
    wide: object('{"message":"text 0",', "}\n"),
  },
  "hook of any JSON": {
    path: "/hooks/json",
    many: { head: "[", one: (i) => `{"message":"text ${i}","n":${i}}`, between: ",", tail: "]" },
    wide: object('{"message":"text 0",', "}"),
  },
  "hook of Alertmanager": {
    path: "/hooks/alertmanager",
    many: {
      head: '{"status":"firing","alerts":[',
      one: (i) => `{"fingerprint":"${i}","annotations":{"summary":"text ${i}"},"startsAt":"2026-11-20T10:00:00Z"}`,
      between: ",",
      tail: '],"receiver":"r"}',
    },
    wide: object('{"alerts":[{"annotations":{"summary":"text 0",', "}}]}"),
  },
  "hook with a template": {
    path: "/hooks/made",
    template: { text: "{n}", each: "data.items" },
    many: { head: '{"data":{"items":[', one: (i) => `{"n":"text ${i}"}`, between: ",", tail: '],"more":1}}' },
    wide: object('{"data":{"items":[{"n":"text 0",', "}]}}"),
  },
};

function bodyOf({ head, one, between, tail }: Shape): { body: Buffer; count: number } {
  const parts: string[] = [];
  for (let size = 0; size < BODY_BYTES; size += parts.at(-1)!.length + 1) parts.push(one(parts.length));
  return { body: Buffer.from(head + parts.join(between) + tail), count: parts.length };
}

type Told = { readonly template?: TemplateSource; readonly headers?: Readonly<Record<string, string>> };

async function take(
  path: string,
  body: Buffer,
  { template, headers = {} }: Told = {},
): Promise<{ stored: StoredEvents; texts: readonly string[] }> {
  const match = matchProtocol("POST", path);
  if (match?.endpoint.kind !== "post") throw new Error(`nothing takes ${path}`);
  const { endpoint } = match;
  const texts: string[] = [];
  const type = path === "/lines" ? "application/x-ndjson" : "application/json";
  const hook =
    template === undefined ? null : ({ name: "made", kind: "json", signature: "none", template, created: 0 } as const);
  const received = receivedOf(body, { headers: { "content-type": type, ...headers }, hook });
  const options = {
    coalescer: {
      async submitLines(_log: unknown, all: readonly { fields: string }[]) {
        for (const [i, { fields }] of all.entries()) {
          if (i % 500 === 0) await new Promise(setImmediate);
          texts.push(/"text":"([^"]*)"/.exec(fields)![1]!);
        }
        return firstIdAt(0);
      },
    },
    idempotency: {
      post: async <B extends object>(batch: B, append: Append) => {
        return { ...batch, first: await append({ first: firstIdAt(0), created: 0 }) };
      },
    },
    recent: new RecentIds(),
    limits: DEFAULT_LIMITS,
    clock: HOST_CLOCK,
    memory: { turns: new FairTurns() },
    scheduler: new Scheduler(),
  };
  const given = { log: parseLogKey("a")!, apiKey: "", tags: [], owner: "ann" };
  const producer = { ...given, sent_bytes: body.length, repeat: null };
  const { stored } = await storeEvents(producer, body.length, () => endpoint.read(received), options);
  return { stored, texts };
}

/**
 * Asserts that work never blocks the event loop for half the time that it takes to parse `body`
 * at once.
 */
async function assertShortSteps(t: ExecutionContext, body: Buffer, work: () => Promise<unknown>): Promise<void> {
  const whole_ms = parsed_ms(body);
  const longest_ms = await holdOfBest_ms(whole_ms / 2, work);
  t.log(`longest ${longest_ms} ms, parsed at once ${whole_ms} ms`);
  t.true(longest_ms < whole_ms / 2, `${longest_ms} ms in one step, ${whole_ms} to parse all of it`);
}

for (const [name, { path, many, wide, ...told }] of Object.entries(CASES)) {
  test.serial(
    `${name}: a long body of many events is stored in short steps, each event once and complete`,
    async (t) => {
      const { body, count } = bodyOf(many);
      await assertShortSteps(t, body, async () => {
        const { stored, texts } = await take(path, body, told);
        t.is(stored.accepted, count);
        t.is(stored.cut, 0);
        t.true(texts.every((text, i) => text === `text ${i}`));
      });
    },
  );

  test.serial(`${name}: one event of many megabytes is cut in short steps and marked`, async (t) => {
    const { body } = bodyOf(wide);
    await assertShortSteps(t, body, async () => {
      const { stored, texts } = await take(path, body, told);
      t.is(stored.accepted, 1);
      t.is(stored.cut, 1);
      t.is(texts[0], "text 0");
    });
  });

  if (path === "/gelf" || path === "/lines") continue;
  test.serial(`${name}: a long body that ends too early stores nothing`, async (t) => {
    const { body } = bodyOf(many);
    const texts: string[] = [];
    const cut = body.subarray(0, body.length - (path === "/_bulk" ? body.length - body.lastIndexOf('{"message') : 3));
    const error = await t.throwsAsync(async () => texts.push(...(await take(path, cut, told)).texts));
    t.true(error instanceof LoggiaError && error.code === "bad_body", String(error));
    t.deepEqual(texts, []);
  });
}

test.serial("millions of empty objects are skipped in short steps", async (t) => {
  const body = Buffer.from(`{"resourceLogs":[${"{},".repeat(BODY_BYTES / 3)}{}]}`);
  await assertShortSteps(t, body, async () => {
    const { stored } = await take("/v1/logs", body);
    t.is(stored.accepted, 0);
  });
});

test.serial("hooks skip unused content in short steps, whatever it is", async (t) => {
  const empty = `[${"{},".repeat(BODY_BYTES / 3)}{}]`;
  const forms = { "content-type": "application/x-www-form-urlencoded" };
  const cases: readonly (readonly [string, string, Told, number])[] = [
    ["/hooks/github", `{"zen":${empty}}`, { headers: { "x-github-event": "ping" } }, 1],
    ["/hooks/sentry", `{"data":${empty}}`, {}, 1],
    ["/hooks/json", "a&".repeat(BODY_BYTES / 2), { headers: forms }, 1],
    [
      "/hooks/json",
      `a=1&payload=${encodeURIComponent(`{"message":"x","y":[${"{},".repeat(1_000_000)}{}]}`)}`,
      { headers: forms },
      1,
    ],
    ["/hooks/json", `text ${empty}`, { headers: { "content-type": "text/plain" } }, 1],
    ["/hooks/made", `{"data":${empty}}`, { template: { text: "{data}", each: "data.constructor.0" } }, 1],
  ];
  for (const [path, body, told, accepted] of cases) {
    await assertShortSteps(t, Buffer.from(empty), async () => {
      const { stored } = await take(path, Buffer.from(body), told);
      t.is(stored.accepted, accepted, path);
      t.is(stored.cut, accepted, path);
    });
  }
});

test.serial("a long GitHub push has the number of its commits", async (t) => {
  const commit = { id: "a".repeat(40), message: "m".repeat(1_000), added: ["a/file"] };
  const push = {
    ref: "refs/heads/main",
    commits: Array.from({ length: 2_048 }, () => commit),
    sender: { login: "octocat" },
  };
  const { texts } = await take("/hooks/github", Buffer.from(JSON.stringify(push)), {
    headers: { "x-github-event": "push" },
  });
  t.deepEqual(texts, ["octocat pushed 2048 commits to main"]);
});

/** Time to parse the largest JSON in a body at once. */
function parsed_ms(body: Buffer): number {
  const before_ms = busy_ms();
  const text = body.toString("utf8");
  try {
    JSON.parse(text);
  } catch {
    JSON.parse(`[${text.trim().split("\n").join(",")}]`);
  }
  return busy_ms() - before_ms;
}
