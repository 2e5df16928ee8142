import test from "ava";

import type { LogKey, UserId } from "../../../src/events/event.ts";
import { describeDigest, describeLimit } from "../../../pipelines/notify/mail-text.ts";
import { emptyDigest } from "../../../pipelines/notify/digest.ts";
import { newAllowance } from "../../../pipelines/notify/allowance.ts";

const DIGEST = emptyDigest({ user: "0123456789abcdef" as UserId, log: "shop" as LogKey, class: "failure" });
const MAIL = { one: "mail", more: "mail" };
const line = (text: string, source = "", value: number | null = null) => ({
  created: 1_308_491_673_911,
  text,
  source,
  value,
});

test("composes a mail about one event", (t) => {
  const lines = [line("Disk full", "web-3", 97.5)];
  t.deepEqual(describeDigest(DIGEST, { count: 1, doubtful: 0, since_ms: 0, lines }, MAIL), {
    subject: "[shop] failure: Disk full",
    text: `1 event of class failure in log shop since the last mail:

2011-06-19 13:54:33.911 UTC  web-3:  Disk full  (value 97.5)

--
You receive this mail because you subscribe to this class. To unsubscribe:
loggia notify off --log shop failure
`,
  });
});

test("composes a mail about more events than it shows, after one that may not have arrived", (t) => {
  const lines = [line("first"), line("second")];
  t.deepEqual(describeDigest(DIGEST, { count: 12, doubtful: 1, since_ms: 0, lines }, MAIL), {
    subject: "[shop] failure: 12 events: first",
    text: `12 events of class failure in log shop since the last mail, the first 2 of them:

2011-06-19 13:54:33.911 UTC  first
2011-06-19 13:54:33.911 UTC  second

... and 10 more.

An earlier mail about 1 event may not have reached you. All events are in the log.

--
You receive this mail because you subscribe to this class. To unsubscribe:
loggia notify off --log shop failure
`,
  });
});

test("a long text is cut in the subject, between characters", (t) => {
  const { subject } = describeDigest(
    DIGEST,
    { count: 1, doubtful: 0, since_ms: 0, lines: [line("😀".repeat(200))] },
    MAIL,
  );
  t.is(subject, `[shop] failure: ${"😀".repeat(80)}…`);
});

test("texts of producers become one line each, without control characters", (t) => {
  const evil = "a\r\nb\u0000c\u001b[2Jd\u2028e\u202ef\u2066g\u0085h";
  const { subject, text } = describeDigest(
    DIGEST,
    { count: 1, doubtful: 0, since_ms: 0, lines: [line(evil, evil)] },
    MAIL,
  );
  t.is(subject, "[shop] failure: a b c [2Jd e f g h");
  t.regex(text, / {2}a b c \[2Jd e f g h: {2}a b c \[2Jd e f g h\n/);
  t.notRegex(subject + text.replaceAll("\n", ""), /[\p{Cc}\p{Zl}\p{Zp}\u202e\u2066]/u);
});

test("the last mail of a day names the day and the number", (t) => {
  const { subject, text } = describeLimit({ ...newAllowance(DIGEST.user), day: "2026-11-21" }, 50, MAIL);
  t.is(subject, "No more mail about events on 2026-11-21");
  t.regex(
    text,
    /^50 mails about events were sent to you on 2026-11-21 \(UTC\), the limit of a day\. This is the last one\./,
  );
});
