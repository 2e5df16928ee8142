import { KEY, LOG } from "../support/service.ts";
import { mutate, mutateText } from "./random.ts";
import type { Random } from "./random.ts";
import type { Target } from "./target.ts";

const FIELDS = (
  "text,link,tags,source,user,value,geo,data,created,email,page,class," +
  "attributes,attr.http.status,attr.,attr.__proto__"
).split(",");
const VALUES = [
  "hello",
  "a b c",
  "1.5",
  "-0",
  "40.12,-76.29",
  "ip:203.0.113.9",
  "ip:::1",
  "@html\n<b>x</b>",
  "http://example.org/?a=b",
  "1700000000000",
  "2026-11-21T08:00:00Z",
  '{"a":[1,2]}',
  '{"http":{"status":500},"10":1,"":[null,"x"],"deep":{"a":{"b":[true]}},"list":[{}]}',
  "\u{1f600}\u0301\u0130\ud800",
  "",
  " ",
];

const AT_ONCE = 16;

/** Posts forms, JSONP, and batches as JSON and as lines, with fields of every kind of value. */
export async function fuzzPosts(target: Target, random: Random, deadline_ms: number): Promise<number> {
  let tries = 0;
  while (performance.now() < deadline_ms) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => post(target, random)));
    tries += AT_ONCE;
    if (tries % (AT_ONCE * 50) === 0) await target.check("posts");
  }
  await target.check("posts");
  return tries;
}

async function post(target: Target, random: Random): Promise<void> {
  const fields = Array.from({ length: random.below(8) }, (): [string, string] => [
    random.percent(90) ? random.oneOf(FIELDS) : mutateText(random, random.oneOf(FIELDS)),
    random.percent(40) ? mutateText(random, random.oneOf(VALUES)) : random.oneOf(VALUES),
  ]);
  const table = random.oneOf(["events", "events", "users"]);
  const url = `${target.post.url}/1/logs/${LOG}/${table}`;
  const key = `apikey=${KEY}`;
  switch (random.below(4)) {
    case 0: {
      const form = new URLSearchParams([["apikey", KEY], ...fields]).toString();
      const body = random.percent(50) ? mutate(random, Buffer.from(form)) : Buffer.from(form);
      await target.ask(`${url}?${key}`, { method: "POST", body });
      return;
    }
    case 1: {
      const callback = random.percent(70) ? "page.show" : mutateText(random, "page.show");
      const query = new URLSearchParams([["fmt", "jsonp"], ["callback", callback], ["apikey", KEY], ...fields]);
      await target.ask(`${url}?${query}`.slice(0, 60_000));
      return;
    }
    default: {
      const items = Array.from({ length: random.below(5) }, () =>
        Object.fromEntries(
          fields.map(([name, value]) => [
            name,
            random.oneOf<unknown>([value, [value], Number(value), null, { value }, true]),
          ]),
        ),
      );
      const isLines = random.percent(50);
      const json = isLines ? items.map((item) => JSON.stringify(item)).join("\n") : JSON.stringify(items);
      const body = random.percent(50) ? mutate(random, Buffer.from(json)) : Buffer.from(json);
      await target.ask(`${url}?${key}`, {
        method: "POST",
        body,
        headers: {
          "Content-Type": isLines ? "application/x-ndjson" : "application/json",
          ...(random.percent(20) && { "Idempotency-Key": `fuzz-${random.below(50)}` }),
          ...(random.percent(10) && { "Content-Encoding": random.oneOf(["gzip", "identity", "br"]) }),
        },
      });
    }
  }
}
