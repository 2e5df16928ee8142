import test from "ava";
import fc from "fast-check";

import type { LogKey, UserId } from "../../../src/events/event.ts";
import { firstIdAt } from "../../../src/events/id.ts";
import {
  begin,
  markUncertain,
  drop,
  emptyDigest,
  fail,
  addNotices,
  readyAt,
  succeed,
  type Digest,
} from "../../../pipelines/notify/digest.ts";
import { newAllowance, giveBack, nextDay, take } from "../../../pipelines/notify/allowance.ts";
import { decodeNotice, encodeNotice, type Notice } from "../../../pipelines/notify/notice.ts";

const KEY = { user: "0123456789abcdef" as UserId, log: "shop" as LogKey, class: "failure" };
const TIMING = { collect_ms: 5_000, interval_ms: 60_000, lines: 3 };
const EPOCH_MS = 1_700_000_000_000;

/** Returns the n-th notice of a partition. */
function notice(n: number, { partition = 0, life_ms = 0 } = {}): Notice {
  const created = EPOCH_MS + life_ms + n;
  const words = { text: `event ${n}`, source: "", value: null };
  const origin = { partition, offset: Math.floor(n / 3), line: (n % 3) + 1 };
  return { ...words, created, id: firstIdAt(created), log: KEY.log, class: KEY.class, users: [KEY.user], origin };
}

function some(from: number, to: number): Notice[] {
  return Array.from({ length: to - from }, (_, i) => notice(from + i));
}

const at = { partition: 0, now_ms: EPOCH_MS, lines: 3 };
const attempt = { token: "t", now_ms: EPOCH_MS + 5_000, until_ms: EPOCH_MS + 65_000 };

test("notices are counted, and the first ones are kept", (t) => {
  const digest = addNotices(emptyDigest(KEY), some(0, 10), at);
  t.like(digest.pending, { count: 10, since_ms: EPOCH_MS });
  t.deepEqual(
    digest.pending.lines.map(({ text }) => text),
    ["event 0", "event 1", "event 2"],
  );
});

test("redelivered notices change nothing, however they are split", (t) => {
  const digest = addNotices(emptyDigest(KEY), some(0, 10), at);
  t.is(addNotices(digest, some(0, 10), { ...at, now_ms: EPOCH_MS + 1 }), digest);
  t.is(addNotices(digest, some(7, 9), at), digest);
  t.is(addNotices(digest, some(5, 12), at).pending.count, 12);
  t.is(
    addNotices(digest, [notice(3, { partition: 1 })], at).pending.count,
    11,
    "another partition has offsets of its own",
  );
});

test("notices of a topic that was lost and recreated are counted", (t) => {
  const digest = addNotices(emptyDigest(KEY), some(0, 10), at);
  const anew = [0, 1].map((n) => notice(n, { life_ms: 3_600_000 }));
  const after = addNotices(digest, anew, at);
  t.is(after.pending.count, 12);
  t.is(addNotices(after, anew, at), after);
});

test("the first mail waits for the gathering time, the next for the interval", (t) => {
  t.is(readyAt(emptyDigest(KEY), TIMING), null);
  const first = addNotices(emptyDigest(KEY), some(0, 1), at);
  t.is(readyAt(first, TIMING), EPOCH_MS + 5_000);
  const sent = succeed(begin(first, attempt), EPOCH_MS + 6_000);
  t.is(readyAt(sent, TIMING), null);
  const next = addNotices(sent, some(1, 2), { ...at, now_ms: EPOCH_MS + 6_000 });
  t.is(readyAt(next, TIMING), EPOCH_MS + 66_000);
});

test("a failed mail is sent again with later notices, under the same serial number", (t) => {
  const begun = begin(addNotices(emptyDigest(KEY), some(0, 2), at), attempt);
  t.is(begun.serial, 1);
  t.is(readyAt(begun, TIMING), attempt.until_ms);
  const failed = fail(addNotices(begun, some(2, 7), { ...at, now_ms: EPOCH_MS + 7_000 }), 3);
  t.like(failed, { serial: 0, sent_ms: 0, sending: null });
  t.like(failed.pending, { count: 7, doubtful: 0, since_ms: EPOCH_MS });
  t.deepEqual(
    failed.pending.lines.map(({ text }) => text),
    ["event 0", "event 1", "event 2"],
  );
});

test("the events of a doubtful mail are not repeated; the next mail counts them as doubtful", (t) => {
  const begun = begin(addNotices(emptyDigest(KEY), some(0, 4), at), attempt);
  const doubtful = markUncertain(begun, EPOCH_MS + 9_000);
  t.like(doubtful, { serial: 1, sent_ms: EPOCH_MS + 9_000, sending: null });
  t.is(readyAt(doubtful, TIMING), null);
  const next = begin(addNotices(doubtful, some(4, 5), at), attempt);
  t.like(next.sending?.gathered, { count: 1, doubtful: 4 });
  t.is(next.serial, 2);
  t.like(fail(next, 3).pending, { count: 1, doubtful: 4 });
  t.like(markUncertain(next, 0).pending, { count: 0, doubtful: 5 });
});

test("dropped notices are forgotten and not gathered again", (t) => {
  const digest = drop(addNotices(emptyDigest(KEY), some(0, 4), at));
  t.is(digest.pending.count, 0);
  t.is(addNotices(digest, some(0, 4), at), digest);
});

test("in any order of steps, each event is in one mail or pending", (t) => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant("gather" as const), back: fc.nat(8), length: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ kind: fc.constantFrom("begin" as const, "succeed" as const, "fail" as const, "doubt" as const) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (all) => {
      let digest: Digest = emptyDigest(KEY);
      let end = 0;
      let mailed = 0;
      for (const step of all) {
        const under = digest.sending?.gathered.count ?? 0;
        if (step.kind === "gather") {
          const from = Math.max(0, end - step.back);
          digest = addNotices(digest, some(from, from + step.length), at);
          end = Math.max(end, from + step.length);
        } else if (step.kind === "begin") {
          if (digest.sending === null && digest.pending.count > 0) digest = begin(digest, attempt);
        } else if (step.kind === "succeed") {
          mailed += under;
          digest = succeed(digest, EPOCH_MS);
        } else if (step.kind === "fail") {
          digest = fail(digest, 3);
        } else {
          mailed += under;
          digest = markUncertain(digest, EPOCH_MS);
        }
        if (mailed + digest.pending.count + (digest.sending?.gathered.count ?? 0) !== end) return false;
        if (digest.pending.lines.length > 3) return false;
      }
      return true;
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test("a user gets a limited number of mails per day, then one that says so, then none until the next day", (t) => {
  const noon_ms = Date.UTC(2026, 10, 21, 12);
  let allowance = newAllowance(KEY.user);
  const verdicts = (now_ms: number, count: number): string[] =>
    Array.from({ length: count }, () => {
      const { verdict, after } = take(allowance, now_ms, 2);
      allowance = after;
      return verdict;
    });
  t.deepEqual(verdicts(noon_ms, 5), ["mail", "mail", "limit", "spent", "spent"]);
  const spent = allowance;
  t.is(take(spent, noon_ms, 2).after, spent, "nothing to write");
  allowance = giveBack(allowance, "limit", noon_ms);
  t.deepEqual(verdicts(noon_ms, 2), ["limit", "spent"]);
  allowance = giveBack(allowance, "mail", noon_ms);
  t.deepEqual(verdicts(noon_ms, 2), ["mail", "spent"]);
  t.is(nextDay(noon_ms), Date.UTC(2026, 10, 22));
  t.deepEqual(verdicts(nextDay(noon_ms), 3), ["mail", "mail", "limit"]);
  t.is(giveBack(allowance, "mail", noon_ms), allowance, "yesterday's mail is not today's");
});

test("a notice is decoded unchanged except for long texts", (t) => {
  const event = {
    ...notice(1),
    link: "",
    tags: [],
    user: "",
    geo: null,
    data: null,
    attributes: null,
    hash: "",
    pattern: "",
    text: "😀".repeat(301),
    source: "s\n",
    value: 1.5,
  };
  const { key, value } = encodeNotice(event, [KEY.user], notice(1).origin);
  t.is(key, "shop");
  t.deepEqual(decodeNotice(value), {
    ...notice(1),
    text: `${"😀".repeat(300)}…`,
    source: "s\n",
    value: 1.5,
  });
});

test("a malformed notice is ignored", (t) => {
  const good = JSON.parse(
    encodeNotice({ ...notice(1) } as never, [KEY.user], notice(1).origin).value.toString(),
  ) as object;
  t.not(decodeNotice(Buffer.from(JSON.stringify(good))), null);
  const bad = [
    { ...good, v: 2 },
    { ...good, id: "short" },
    { ...good, users: "all" },
    { ...good, origin: null },
    { ...good, text: 7 },
    { ...good, created: "now" },
    { ...good, value: "x" },
    [],
    null,
    7,
  ];
  for (const one of bad) t.is(decodeNotice(Buffer.from(JSON.stringify(one))), null, JSON.stringify(one));
  t.is(decodeNotice(Buffer.from("{oops")), null);
  t.is(decodeNotice(Buffer.alloc(0)), null);
});
