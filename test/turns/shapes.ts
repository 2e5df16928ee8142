import { gzipSync } from "node:zlib";

/** A request whose decoding is as much work as its size allows. */
export type WorstRequest = {
  /** Protocol and shape, such as `loki: one huge item of empty objects`. */
  readonly name: string;
  /** Protocol of `src/ingest/protocols/list.ts`. */
  readonly protocol: string;
  readonly method: string;
  /** Request target without the prefix of a log. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

/** Values of about a given size in bytes, each the worst of its kind to parse or to flatten. */
const JSON_VALUES: Readonly<Record<string, (size_bytes: number) => string>> = {
  "empty lists": (size) => `{"a":[${repeat("[],", size)}[]]}`,
  "empty objects": (size) => `{"a":[${repeat("{},", size)}{}]}`,
  zeros: (size) => `{"a":[${repeat("0,", size)}0]}`,
  "zeros after a long number": (size) => `{"a":[12345678901234567890,${repeat("0,", size)}0]}`,
  "long numbers": (size) => `{"a":[${repeat("12345678901234567890,", size)}0]}`,
  members: (size) => `{${numbered(size, (i) => `"m${i}":0`)}}`,
  "one member again and again": (size) => `{${repeat('"a":0,', size)}"a":1}`,
  "nulls with names": (size) => `{${numbered(size, (i) => `"m${i}":null`)}}`,
  "nested lists": (size) => `{"a":${"[".repeat(size / 2)}${"]".repeat(size / 2)}}`,
  "nested objects": (size) => `${'{"a":'.repeat(size / 6)}0${"}".repeat(size / 6)}`,
  "an attribute under two names": (size) =>
    `{${repeat('"a":{"b":1},"a.b":2,', size)}"c":[${repeat('{"d":0},', size / 9)}0]}`,
  "names below a long name": (size) => `{"${"n".repeat(size / 2)}":{${numbered(size / 2, (i) => `"m${i}":0`)}}}`,
  "many lists of one name": (size) => `{${numbered(size, (i) => `"m${i % 9}":[1,2]`)}}`,
  "a long text": (size) => `{"message":"${"x".repeat(size)}"}`,
  "a text of escapes": (size) => `{"message":"${"\\u0041".repeat(size / 6)}"}`,
  "a text of blanks": (size) => `{"message":"${" ".repeat(size)}","a":"${" ".repeat(1_000)}"}`,
  "a text of tags": (size) => `{"message":"m","tags":"${"a,".repeat(size / 2)}"}`,
  "a list of tags": (size) => `{"message":"m","tags":[${repeat('"a",', size)}"b"],"ddtags":"${"a:b,".repeat(1_000)}"}`,
  "JSON in a text": (size) => `{"message":${JSON.stringify(`{${numbered(size / 2, (i) => `"m${i}":0`)}}`)}}`,
  "braces in a text": (size) => `{"message":"{${"}  ".repeat(size / 3)}"}`,
};

function repeat(text: string, size_bytes: number): string {
  return text.repeat(Math.max(1, Math.floor(size_bytes / text.length)));
}

function numbered(size_bytes: number, one: (i: number) => string): string {
  const parts: string[] = [];
  for (let size = 0; size < size_bytes; size += parts.at(-1)!.length + 1) parts.push(one(parts.length));
  return parts.join(",");
}

/** How a protocol holds JSON objects. */
type JsonEnvelope = {
  readonly protocol: string;
  readonly path: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly head?: string;
  readonly item: (json: string) => string;
  readonly between: string;
  readonly tail?: string;
};

const same = (json: string): string => json;
const NDJSON = "application/x-ndjson";

const ENVELOPES: readonly JsonEnvelope[] = [
  { protocol: "lines", path: "/lines", type: NDJSON, item: same, between: "\n" },
  { protocol: "lines", path: "/lines", type: "application/json", head: "[", item: same, between: ",", tail: "]" },
  { protocol: "lines", path: "/lines", type: "text/plain", item: same, between: "\n" },
  { protocol: "lines", path: "/lines", type: "application/json", item: same, between: "" },
  {
    protocol: "otlp",
    path: "/v1/logs",
    head: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[',
    item: (json) => `{"body":{"stringValue":"b"},"attributes":[{"key":"k","value":${json}}]}`,
    between: ",",
    tail: "]}]}]}",
  },
  {
    protocol: "otlp",
    path: "/v1/logs",
    head: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[',
    item: (json) => `{"body":{"kvlistValue":{"values":[{"key":"a","value":{"stringValue":${JSON.stringify(json)}}}]}}}`,
    between: ",",
    tail: "]}]}]}",
  },
  {
    protocol: "otlp",
    path: "/v1/logs",
    head: '{"resourceLogs":[',
    item: (json) => `{"resource":${json},"scopeLogs":[{"scope":${json},"logRecords":[{},{}]}]}`,
    between: ",",
    tail: "]}",
  },
  {
    protocol: "loki",
    path: "/loki/api/v1/push",
    head: '{"streams":[{"stream":{"a":"b"},"values":[',
    item: (json) => `["1795668973536000000",${JSON.stringify(json)},${json}]`,
    between: ",",
    tail: "]}]}",
  },
  {
    protocol: "loki",
    path: "/loki/api/v1/push",
    head: '{"streams":[',
    item: (json) => `{"stream":${json},"values":[["1795668973536000000","x"],["1795668973536000000","y"]]}`,
    between: ",",
    tail: "]}",
  },
  { protocol: "splunk", path: "/services/collector/event", item: (json) => `{"event":${json}}`, between: "" },
  {
    protocol: "splunk",
    path: "/services/collector/event",
    item: (json) => `{"event":${JSON.stringify(json)},"fields":${json}}`,
    between: "\n",
  },
  { protocol: "splunk", path: "/services/collector/raw", item: same, between: "" },
  { protocol: "splunk", path: "/services/collector/raw", item: same, between: "\n" },
  { protocol: "datadog", path: "/api/v2/logs", head: "[", item: same, between: ",", tail: "]" },
  { protocol: "datadog", path: "/api/v2/logs", type: "text/plain", item: same, between: "\n" },
  { protocol: "gelf", path: "/gelf", item: same, between: "\n" },
  {
    protocol: "elasticsearch",
    path: "/_bulk",
    item: (json) => `{"index":{"_index":"i"}}\n${json}`,
    between: "\n",
    tail: "\n",
  },
  {
    protocol: "elasticsearch",
    path: "/_bulk",
    item: (json) => `{"update":{"_index":"i","_id":"1"}}\n{"doc":${json},"upsert":${json}}`,
    between: "\n",
    tail: "\n",
  },
  { protocol: "elasticsearch", path: "/i/_doc", item: same, between: "\n" },
  { protocol: "hooks", path: "/hooks/json", head: "[", item: same, between: ",", tail: "]" },
  {
    protocol: "hooks",
    path: "/hooks/alertmanager",
    head: '{"status":"firing","commonLabels":{"a":"b"},"alerts":[',
    item: (json) => `{"labels":${json},"annotations":${json},"startsAt":"2026-11-20T10:00:00Z"}`,
    between: ",",
    tail: "]}",
  },
  {
    protocol: "hooks",
    path: "/hooks/github",
    headers: { "x-github-event": "push" },
    item: (json) => `{"commits":[${json}],"repository":${json}}`,
    between: "",
  },
  {
    protocol: "hooks",
    path: "/hooks/sentry",
    item: (json) => `{"event":${json},"data":{"issue":${json}}}`,
    between: "",
  },
];

/** Sizes of an item: all bytes in one, some hundred kilobytes, about the size read at once, tiny. */
const ITEM_BYTES: Readonly<Record<string, (size_bytes: number) => number>> = {
  "one huge item": (size) => size,
  "items of 500 KB": (size) => Math.min(size, 500_000),
  "items of 30 KB": (size) => Math.min(size, 30_000),
  "many tiny items": () => 12,
};

/** Chooses requests by their names, before their bodies are built. */
export type Wanted = (name: string) => boolean;
const ALL: Wanted = () => true;

/** Yields the worst requests with JSON, each of about a size in bytes. */
export function* worstJson(size_bytes: number, isWanted: Wanted = ALL): Generator<WorstRequest> {
  for (const envelope of ENVELOPES) {
    for (const [kind, valueOf] of Object.entries(JSON_VALUES)) {
      for (const [count, itemBytes] of Object.entries(ITEM_BYTES)) {
        const { protocol, path, type = "application/json", head = "", between, tail = "", headers = {} } = envelope;
        const name = `${protocol} ${path} ${type}: ${count} of ${kind}`;
        if (!isWanted(name)) continue;
        const item = envelope.item(valueOf(itemBytes(size_bytes)));
        const times = Math.max(1, Math.floor(size_bytes / (item.length + between.length)));
        const body = Buffer.from(head + Array.from({ length: times }, () => item).join(between) + tail);
        yield { name, protocol, method: "POST", path, headers: { "content-type": type, ...headers }, body };
      }
    }
  }
}

/** Bodies that are no JSON, of about a size in bytes. */
const BYTES: Readonly<Record<string, (size_bytes: number) => Buffer>> = {
  zeros: (size) => Buffer.alloc(size),
  blanks: (size) => Buffer.alloc(size, " "),
  "line feeds": (size) => Buffer.alloc(size, "\n"),
  braces: (size) => Buffer.alloc(size, "{"),
  "closed braces": (size) => Buffer.alloc(size, "{}"),
  brackets: (size) => Buffer.alloc(size, "["),
  quotes: (size) => Buffer.alloc(size, '"'),
  backslashes: (size) => Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(size, "\\")]),
  "lines of a letter": (size) => Buffer.alloc(size, "a\n"),
  "journal fields of one name": (size) => Buffer.alloc(size, "A=\n"),
  "journal fields": (size) => Buffer.from(numbered(size, (i) => `F${i}=x`).replaceAll(",", "\n") + "\n"),
  "journal entries": (size) => Buffer.alloc(size, "A=\n\n"),
  "pairs of a form": (size) => Buffer.alloc(size, "a=1&"),
  "escapes of a form": (size) => Buffer.concat([Buffer.from("payload="), Buffer.alloc(size, "%7B")]),
  "protobuf fields of no length": (size) => Buffer.alloc(size, Buffer.from([0x0a, 0x00])),
  "protobuf records of no length": (size) => field(1, field(2, Buffer.alloc(size, Buffer.from([0x12, 0x00])))),
  "protobuf attributes of no length": (size) =>
    field(1, field(2, field(2, Buffer.alloc(size, Buffer.from([0x32, 0x00]))))),
  "protobuf attributes": (size) => field(1, field(2, field(2, attributes(6, size)))),
  "protobuf attributes of one name": (size) =>
    field(1, field(2, field(2, Buffer.alloc(size, field(6, field(1, Buffer.from("a"))))))),
  "protobuf list of nothing": (size) => {
    const list = field(5, Buffer.alloc(size, Buffer.from([0x0a, 0x00])));
    return field(1, field(2, field(2, field(6, Buffer.concat([field(1, Buffer.from("a")), field(2, list)])))));
  },
  "protobuf body of pairs": (size) => field(1, field(2, field(2, field(5, field(6, attributes(1, size)))))),
  "protobuf resource attributes": (size) =>
    field(
      1,
      Buffer.concat([field(1, attributes(1, size / 2)), field(2, Buffer.alloc(size / 2, Buffer.from([0x12, 0x00])))]),
    ),
  "protobuf scope attributes": (size) =>
    field(
      1,
      field(2, Buffer.concat([field(1, attributes(3, size / 2)), Buffer.alloc(size / 2, Buffer.from([0x12, 0x00]))])),
    ),
  "protobuf text": (size) => field(1, field(2, field(2, field(5, field(1, Buffer.alloc(size, "x")))))),
  "protobuf numbers of ten bytes": (size) =>
    field(
      1,
      field(
        2,
        field(2, Buffer.alloc(size, Buffer.from([0x38, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]))),
      ),
    ),
  "protobuf Loki entries": (size) =>
    field(1, Buffer.concat([field(1, Buffer.from('{a="b"}')), Buffer.alloc(size, Buffer.from([0x12, 0x00]))])),
  "protobuf Loki metadata": (size) =>
    field(
      1,
      Buffer.concat([
        field(1, Buffer.from('{a="b"}')),
        field(2, Buffer.alloc(size, Buffer.from([0x1a, 0x03, 0x0a, 0x01, 0x61]))),
      ]),
    ),
  "protobuf Loki labels": (size) =>
    field(
      1,
      Buffer.concat([
        field(1, Buffer.from(`{${numbered(size / 2, (i) => `l${i}="v"`)}}`)),
        Buffer.alloc(size / 2, Buffer.from([0x12, 0x00])),
      ]),
    ),
  "MessagePack nils": (size) => Buffer.alloc(size, 0xc0),
  "MessagePack empty records": (size) => Buffer.alloc(size, 0x80),
  "MessagePack record of nils": (size) =>
    Buffer.concat([map32((size - 5) / 3), repeated((size - 5) / 3, Buffer.from([0xa1, 0x61, 0xc0]))]),
  "MessagePack record of a list": (size) =>
    Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), list32(size - 10), Buffer.alloc(size - 10, 0x01)]),
  "MessagePack record of lists": (size) =>
    Buffer.concat([Buffer.from([0x81, 0xa1, 0x61]), list32(size - 10), Buffer.alloc(size - 10, 0x90)]),
  "MessagePack record of members": (size) => {
    const count = Math.floor((size - 5) / 7);
    const bytes = Buffer.alloc(count * 7);
    for (let i = 0; i < count; i++) bytes.write(`\u0000${String(i).padStart(5, "0").slice(-5)}`, i * 7, "latin1");
    for (let i = 0; i < count; i++) bytes[i * 7] = 0xa5;
    return Buffer.concat([map32(count), bytes]);
  },
  "MessagePack text": (size) =>
    Buffer.concat([Buffer.from([0x81, 0xa1, 0x61, 0xdb]), uint32(size), Buffer.alloc(size, "x")]),
  "MessagePack list of records": (size) => Buffer.concat([list32(size - 5), Buffer.alloc(size - 5, 0x80)]),
};

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Distinct attributes with a text, in a field of this number. */
function attributes(number: number, size_bytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let size = 0, i = 0; size < size_bytes; size += parts.at(-1)!.length, i++) {
    parts.push(field(number, Buffer.concat([field(1, Buffer.from(`a${i}`)), field(2, field(1, Buffer.from("x")))])));
  }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(Math.floor(value));
  return bytes;
}

function list32(count: number): Buffer {
  return Buffer.concat([Buffer.from([0xdd]), uint32(count)]);
}

function map32(count: number): Buffer {
  return Buffer.concat([Buffer.from([0xdf]), uint32(count)]);
}

function repeated(count: number, bytes: Buffer): Buffer {
  return Buffer.alloc(Math.floor(count) * bytes.length, bytes);
}

/** Endpoints to which all bodies are sent, whatever they expect. */
export const ENDPOINTS: readonly Omit<WorstRequest, "name" | "body">[] = [
  at("lines", "/lines", NDJSON),
  at("lines", "/lines", "text/plain"),
  at("lines", "/lines", "application/msgpack"),
  at("otlp", "/v1/logs", "application/json"),
  at("otlp", "/v1/logs", "application/x-protobuf"),
  at("loki", "/loki/api/v1/push", "application/json"),
  at("loki", "/loki/api/v1/push", "application/x-protobuf", { "content-encoding": "identity" }),
  at("splunk", "/services/collector/event", "application/json"),
  at("splunk", "/services/collector/raw", "text/plain"),
  at("datadog", "/api/v2/logs", "application/json"),
  at("datadog", "/api/v2/logs", "text/plain"),
  at("gelf", "/gelf", "application/json"),
  at("journald", "/upload", "application/vnd.fdo.journal"),
  at("elasticsearch", "/_bulk", NDJSON),
  at("elasticsearch", "/i/_doc", "application/json"),
  at("hooks", "/hooks/json", "application/json"),
  at("hooks", "/hooks/json", "text/plain"),
  at("hooks", "/hooks/json", "application/x-www-form-urlencoded"),
  at("hooks", "/hooks/alertmanager", "application/json"),
  at("hooks", "/hooks/github", "application/json"),
  at("hooks", "/hooks/sentry", "application/json"),
];

function at(
  protocol: string,
  path: string,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): Omit<WorstRequest, "name" | "body"> {
  return { protocol, method: "POST", path, headers: { "content-type": type, ...headers } };
}

/** Yields the worst bodies of any kind for every endpoint, each of about a size in bytes. */
export function* worstBytes(size_bytes: number, isWanted: Wanted = ALL): Generator<WorstRequest> {
  for (const [kind, bodyOf] of Object.entries(BYTES)) {
    let body: Buffer | null = null;
    for (const endpoint of ENDPOINTS) {
      const name = `${endpoint.protocol} ${endpoint.path} ${endpoint.headers["content-type"]}: ${kind}`;
      if (isWanted(name)) yield { ...endpoint, name, body: (body ??= bodyOf(size_bytes)) };
    }
  }
}

/** Compresses the body of a request. */
export function gzipped(request: WorstRequest): WorstRequest {
  return {
    ...request,
    name: `${request.name}, gzip`,
    headers: { ...request.headers, "content-encoding": "gzip" },
    body: gzipSync(request.body, { level: 1 }),
  };
}

/** Bytes for a TCP listener, or a datagram for a UDP one, of about a size in bytes. */
export type RawStream = { readonly name: string; readonly bytes: Buffer };

/** Returns the worst streams for every listener: one frame, frames of 60 KB, and tiny frames. */
export function rawStreams(size_bytes: number): readonly RawStream[] {
  const texts = Object.entries(JSON_VALUES).map(([kind, valueOf]) => [kind, Buffer.from(valueOf(60_000))] as const);
  const ends = [Buffer.from("\n"), Buffer.from([0])];
  const streams = texts.flatMap(([kind, text]) =>
    ends.map((end) => ({ name: `frames of ${kind}`, bytes: repeatedTo(size_bytes, Buffer.concat([text, end])) })),
  );
  const message = Buffer.from('<13>1 - h a p m [x y="z"] text\n');
  return [
    ...streams,
    { name: "one frame without an end", bytes: Buffer.from(JSON_VALUES["empty lists"]!(size_bytes)) },
    { name: "tiny frames", bytes: repeatedTo(size_bytes, Buffer.from("a\n")) },
    { name: "syslog messages", bytes: repeatedTo(size_bytes, message) },
    {
      name: "structured data",
      bytes: repeatedTo(size_bytes, Buffer.from(`<13>1 - h a p m ${'[x y="z"]'.repeat(6_000)}\n`)),
    },
    ...Object.entries(BYTES)
      .filter(([kind]) => kind.startsWith("MessagePack"))
      .map(([kind, bodyOf]) => ({ name: `forwarded ${kind}`, bytes: forwarded(bodyOf(size_bytes)) })),
  ];
}

/** A message of Fluent forward whose entry has this record. */
function forwarded(record: Buffer): Buffer {
  const entry = Buffer.concat([Buffer.from([0x92, 0x01]), record]);
  return Buffer.concat([Buffer.from([0x92, 0xa1, 0x74, 0xc6]), uint32(entry.length), entry]);
}

function repeatedTo(size_bytes: number, bytes: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: Math.max(1, Math.floor(size_bytes / bytes.length)) }, () => bytes));
}
