import test from "ava";
import { gzipSync } from "node:zlib";

import { get, KEY, LOG, type Service, serviceOf } from "../../support/service.ts";
import { until } from "../../support/until.ts";

type Answer = {
  status: number;
  body: {
    accepted: number;
    rejected: number;
    items: { id?: string; error?: { message: string } }[];
    error?: { code: string; message: string };
  };
};

async function postBatch(
  service: Pick<Service, "postUrl">,
  body: string | Buffer | unknown[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isArray = Array.isArray(body);
  const response = await fetch(`${service.postUrl}/1/logs/${LOG}/events`, {
    method: "POST",
    body: isArray ? JSON.stringify(body) : (body as string),
    headers: {
      "Content-Type": isArray ? "application/json" : "application/x-ndjson",
      Authorization: `Bearer ${KEY}`,
      ...headers,
    },
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

/** Returns the texts of a log once it has this many. */
async function texts(service: Service, count: number): Promise<string[]> {
  return until(
    async () => {
      const { headers, body } = await get(service, `/1/logs/${LOG}/events?pagesize=500`);
      return Number(headers.get("x-total-count")) >= count
        ? (body as { text: string }[]).map(({ text }) => text)
        : null;
    },
    { what: `${count} events` },
  );
}

async function faultOf(service: Service, event: unknown): Promise<string> {
  const { body } = await postBatch(service, [event]);
  return body.items[0]?.error?.message ?? "";
}

/** Returns a line of this many bytes. */
const wide = (bytes: number) => `{"text":"wide","pad":"${"x".repeat(bytes - 25)}"}\n`;

test("limits hold exactly, compressed or not", async (t) => {
  const service = await serviceOf(t, "embedded");
  const line = '{"text":"x"}\n';
  t.like(await postBatch(service, line.repeat(5_000)), { status: 201, body: { accepted: 5_000 } });
  t.like(await postBatch(service, line.repeat(5_001)), { status: 413, body: { error: { code: "body_too_large" } } });
  const packed = { "Content-Encoding": "gzip" };
  t.like(await postBatch(service, gzipSync(line.repeat(3)), packed), { status: 201, body: { accepted: 3 } });
  t.is(wide(100).length, 100);
  t.like(await postBatch(service, wide(5_000_000)), { status: 201, body: { accepted: 1 } });
  t.like(await postBatch(service, wide(5_000_001)), { status: 413 });
  t.like(await postBatch(service, gzipSync(wide(5_000_001)), packed), { status: 413 });
  t.like(await postBatch(service, gzipSync(Buffer.alloc(200_000_000)), packed), { status: 413 });
  t.like(await postBatch(service, gzipSync(line).subarray(0, 15), packed), {
    status: 400,
    body: { error: { code: "bad_body" } },
  });
  // The refused batches stored nothing, and the service continues.
  t.like(await postBatch(service, line), { status: 201 });
  t.is((await texts(service, 5_005)).length, 500);
});

test("a batch without a valid key is refused before it is read", async (t) => {
  const service = await serviceOf(t, "embedded");
  const big = '{"text":"x"}\n'.repeat(300_000);
  const stranger = { Authorization: "Bearer nobody-knows-me" };
  t.like(await postBatch(service, big, stranger), { status: 401, body: { error: { code: "unauthorized" } } });
  t.like(await postBatch(service, [{ text: "x" }], stranger), { status: 401 });
});

const FAULTS: readonly [unknown, string][] = [
  [{}, "text is missing or blank, it must say what happened"],
  [{ text: null }, "text is missing or blank, it must say what happened"],
  [{ text: 5 }, "text is 5, a string is expected"],
  [{ text: ["x"] }, "text is an array, a string is expected"],
  [{ text: "x", source: {} }, "source is an object, a string is expected"],
  [{ text: "x", user: 5 }, "user is 5, a string is expected"],
  [{ text: "x", data: { a: 1 } }, "data is an object, a string is expected"],
  [{ text: "x", tags: 5 }, "tags is 5, a string is expected"],
  [{ text: "x", tags: ["a", 5] }, "tags holds values other than strings, a string or an array of strings is expected"],
  [{ text: "x", value: "12,5" }, 'value is "12,5", a decimal number such as 12.5 is expected'],
  [{ text: "x", value: false }, 'value is false, a number or a string such as "12.5" is expected'],
  [
    { text: "x", geo: { lat: "1", lon: 2 } },
    'geo is an object without the numbers lat and lon, one such as {"lat":40.1203,"lon":-76.2944} is expected',
  ],
  [
    { text: "x", geo: { lat: 91, lon: 2 } },
    'geo is "91,2", the latitude must lie in -90 to 90 and the longitude in -180 to 180',
  ],
  [
    { text: "x", geo: "here" },
    'geo is "here", <latitude>,<longitude> such as 40.1203,-76.2944, or ip:<address>, is expected',
  ],
  [{ text: "x".repeat(8_001) }, "text has 8001 characters, at most 8000 are allowed"],
  [{ text: "x", tags: ["t".repeat(1_001)] }, "tags has 1001 characters, at most 1000 are allowed"],
  [
    { text: "x", created: "soon" },
    'created is "soon", a time such as 2011-06-19T13:54:33.911Z, or milliseconds since 1970, is expected',
  ],
  [
    { text: "x", created: "1308491673911" },
    'created is "1308491673911", a time such as 2011-06-19T13:54:33.911Z, or milliseconds since 1970, is expected: milliseconds are a number, without quotes',
  ],
  [
    { text: "x", created: "2011-06-19T24:00:00Z" },
    'created is "2011-06-19T24:00:00Z", a time such as 2011-06-19T13:54:33.911Z, or milliseconds since 1970, is expected: times go from 00:00:00 to 23:59:59',
  ],
  ["x", 'the event is "x", a JSON object is expected'],
  [null, "the event is null, a JSON object is expected"],
];

test("the outcome of an event lists all of its faults", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { status, body } = await postBatch(
    service,
    FAULTS.map(([event]) => event),
  );
  t.is(status, 201);
  t.deepEqual(
    body.items.map(({ error }) => error?.message),
    FAULTS.map(([, fault]) => `Bad event: ${fault}`),
  );
  const both = await faultOf(service, { text: "", value: "x", created: 1e300 });
  t.is(both.split(";").length, 3);
  const { body: huge } = await postBatch(service, '{"text":"x","value":1e999}');
  t.regex(huge.items[0]?.error?.message ?? "", /value is too large/);
  const { body: late } = await postBatch(service, '{"text":"x","created":1e999}');
  t.regex(late.items[0]?.error?.message ?? "", /created is Infinity, a time such as/);
});

test("a text of a million characters is a bad event whose error event fits the bus", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { body } = await postBatch(service, [{ text: "\u0001".repeat(600_000) }, { text: "beside it" }]);
  t.deepEqual([body.accepted, body.rejected], [1, 1]);
  const found = await texts(service, 2);
  t.true(found.includes("beside it"));
  t.true(found.includes("Bad event: text is too long to be read, at most 8000 characters are allowed"));
});

test("created may be slightly ahead of the clock", async (t) => {
  const service = await serviceOf(t, "embedded");
  const now_ms = Date.now();
  const { body } = await postBatch(service, [
    { text: "ahead", created: now_ms + 4 * 60_000 },
    { text: "far", created: now_ms + 6 * 60_000 },
    { text: "zero", created: 0 },
  ]);
  t.deepEqual(
    body.items.map(({ id }) => id !== undefined),
    [true, false, true],
  );
  const found = await texts(service, 3);
  t.deepEqual([found[0], found[2]], ["zero", "ahead"]);
});
