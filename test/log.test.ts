import test from "ava";

import { createLog, secretSettings } from "../src/log.ts";
import { readSettings } from "../src/settings.ts";

/** A log that keeps its lines. */
function keptLog(secrets: readonly string[] = []) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { log: createLog({ level: "trace", secrets, destination }), lines };
}

test("an error is logged with its message and cause, and no other properties", (t) => {
  const { log, lines } = keptLog();
  const request = { headers: { authorization: "Basic aHVudGVyMg==" }, body: "a person's words" };
  const cause = Object.assign(new Error("refused"), { meta: { request } });
  log.error({ err: Object.assign(new TypeError("it failed", { cause }), { code: "E_FAILED", request }) }, "oh");
  const { err, msg } = JSON.parse(lines[0]!);
  t.is(msg, "oh");
  t.deepEqual(Object.keys(err), ["type", "code", "message", "stack"]);
  t.deepEqual([err.type, err.code, err.message], ["TypeError", "E_FAILED", "it failed"]);
  t.regex(err.stack, /^TypeError: it failed\n {4}at [^]*\ncaused by: Error: refused\n/);
  t.false(lines[0]!.includes("aHVudGVyMg"));
  t.false(lines[0]!.includes("words"));
});

test("fields named like secrets are redacted, and the operator's secrets wherever they occur", (t) => {
  const { log, lines } = keptLog(['hunter2 "quoted"', "short"]);
  log.info({ apikey: "lg_1", account: { password: "p", email: "ann@example.org" }, a: { b: { secret: "s" } } }, "hi");
  log.warn('login with hunter2 "quoted" failed; cut short');
  const { apikey, account, a } = JSON.parse(lines[0]!);
  t.deepEqual(
    { apikey, account, a },
    {
      apikey: "[redacted]",
      account: { password: "[redacted]", email: "ann@example.org" },
      a: { b: { secret: "[redacted]" } },
    },
  );
  t.is(JSON.parse(lines[1]!).msg, "login with [redacted] failed; cut short");
});

test("no text starts a log line of its own or controls a terminal", (t) => {
  const { log, lines } = keptLog();
  log.info({ text: 'a\r\n{"level":60}\u001b[2J\u2028\u202e\u061c' }, "x\ny\u009b31m");
  t.is(lines.length, 1);
  t.is(lines[0]!.indexOf("\n"), lines[0]!.length - 1);
  t.regex(lines[0]!, /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e\u061c]*\n$/);
  t.like(JSON.parse(lines[0]!), { text: 'a\r\n{"level":60}\u001b[2J\u2028\u202e\u061c', msg: "x\ny\u009b31m" });
});

test("lists the secrets in settings", (t) => {
  const settings = readSettings({
    LOGGIA_ADMIN: "ann@example.org:password of ann",
    LOGGIA_LOG: "shop:key of the shop",
    LOGGIA_SMTP: "smtp://me:password%20of%20mail@h",
    LOGGIA_MAIL_FROM: "l@example.org",
    KAFKA_BROKERS: "k:1",
    ELASTICSEARCH_URL: "http://e:1",
    KAFKA_SASL: "plain",
    KAFKA_USERNAME: "me",
    KAFKA_PASSWORD: "password of kafka",
    ELASTICSEARCH_API_KEY: "key of elasticsearch",
  });
  t.deepEqual(secretSettings(settings).toSorted(), [
    "key of elasticsearch",
    "key of the shop",
    "password of ann",
    "password of kafka",
    "password of mail",
  ]);
});
