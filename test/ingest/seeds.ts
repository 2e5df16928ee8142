import { encode, ExtData } from "@msgpack/msgpack";

import { encodePush } from "./protocols/loki-proto.ts";
import { encodeRequest } from "./protocols/otlp-proto.ts";

/** A valid request of a protocol, from which fuzzing starts. */
export type Seed = {
  readonly method?: string;
  readonly path: string;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The template of a hook that has one. */
  readonly template?: Readonly<Record<string, unknown>>;
};

const OTLP = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
      scopeLogs: [
        {
          scope: { name: "lib", version: "1" },
          logRecords: [
            {
              timeUnixNano: "1700000000123456789",
              severityNumber: 17,
              body: { kvlistValue: { values: [{ key: "message", value: { stringValue: "é" } }] } },
              attributes: [
                { key: "n", value: { intValue: "5" } },
                { key: "list", value: { arrayValue: { values: [{ doubleValue: 1.5 }, { boolValue: true }] } } },
              ],
              flags: 1,
            },
            { body: { stringValue: "second" } },
          ],
        },
      ],
    },
  ],
};

/** Bodies of webhooks, and a template that refers to their fields. */
const HOOKS: readonly Seed[] = [
  {
    path: "/hooks/github",
    type: "application/json",
    headers: { "x-github-event": "pull_request", "x-github-delivery": "d1" },
    body: '{"action":"closed","number":2,"pull_request":{"merged":true,"title":"t","number":2,"html_url":"https://g/2","user":{"login":"a","node_id":"n"}},"label":{"name":"bug"},"repository":{"full_name":"o/r","node_id":"n","html_url":"https://g"},"sender":{"login":"a"}}',
  },
  {
    path: "/hooks/github",
    type: "application/x-www-form-urlencoded",
    headers: { "x-github-event": "push" },
    body: "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%2C%22commits%22%3A%5B%7B%7D%5D%2C%22head_commit%22%3A%7B%22message%22%3A%22m%22%7D%7D",
  },
  {
    path: "/hooks/alertmanager",
    type: "application/json",
    body: '{"receiver":"r","status":"firing","groupKey":"{}","alerts":[{"status":"resolved","labels":{"alertname":"A","severity":"critical"},"annotations":{"summary":"s","description":"d"},"startsAt":"2026-11-20T10:00:00.1Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p","values":{"B":1.5}},{"fingerprint":"f"}]}',
  },
  {
    path: "/hooks/sentry",
    type: "application/json",
    headers: { "sentry-hook-resource": "event_alert", "request-id": "r" },
    body: '{"action":"triggered","actor":{"name":"n"},"data":{"event":{"title":"t","level":"error","event_id":"e","datetime":"2026-11-20T10:00:00Z","tags":[["a","b"]],"exception":{"values":[{"type":"T","value":"v","stacktrace":{"frames":[{"function":"f","lineno":1}]}}]}},"triggered_rule":"r"}}',
  },
  {
    path: "/hooks/json?text_field=m",
    type: "application/json",
    headers: { "webhook-id": "msg" },
    body: '[{"m":"x","level":"warn"},{"title":"t","a":{"b":[1,{"c":null}]}}]',
  },
  {
    path: "/hooks/made",
    type: "application/json",
    template: {
      text: "{a.b|$.c} {$header.x-a} {0}",
      tags: ["{t}", "{__proto__}"],
      source: "{$.s}",
      value: "{v}",
      created: "{at}",
      id: "{constructor.name|i}",
      each: "list",
    },
    body: '{"c":"d","s":"src","list":[{"a":{"b":"x"},"t":["p","q"],"v":"1.5","at":1700000000123,"i":1},[1],null,"y"]}',
  },
];

/** A record, an entry with metadata in a group of Fluent Bit, and a list of records. */
const MESSAGE_PACK = Buffer.concat(
  [
    { log: "a", at: { x: [1, null] } },
    [
      [new ExtData(0, Buffer.from("ffffffff00000000", "hex")), { schema: "otlp" }],
      { resource: { attributes: { r: 1 } } },
    ],
    [[new ExtData(0, Buffer.from("691ee1200000000f", "hex")), { otlp: { trace_id: Buffer.alloc(16) } }], { log: "b" }],
    [[new ExtData(0, Buffer.from("fffffffe00000000", "hex")), {}], {}],
    [{ log: "c" }, [1_763_632_800.5, { log: "d" }]],
  ].map((value) => encode(value)),
);

export const SEEDS: readonly Seed[] = [
  ...HOOKS,
  { path: "/lines", type: "text/plain", body: "first\r\nsecond é\n\nthird" },
  {
    path: "/lines?text_field=m&tags=a",
    type: "application/x-ndjson",
    body: '{"time":1700000000123,"level":30,"m":"x","a":{"b":[1,{"c":null}]},"tags":["t"]}\n{"@timestamp":"2026-11-20T10:00:00.1Z"}\nx',
  },
  { path: "/lines", type: "application/json", body: '{"message":"a","n":1}{"message":"}{"} {"time":1.5}' },
  { path: "/lines", type: "application/msgpack", body: MESSAGE_PACK },
  { path: "/v1/logs", type: "application/json", body: JSON.stringify(OTLP) },
  { path: "/v1/logs", type: "application/x-ndjson", body: `${JSON.stringify(OTLP)}\n[${JSON.stringify(OTLP)}]` },
  { path: "/v1/logs", type: "application/x-protobuf", body: encodeRequest(OTLP) },
  {
    path: "/logs/_bulk?filter_path=errors,items.*.status",
    type: "application/x-ndjson",
    body: '{"index":{"_id":"1"}}\n{"message":"a","log":{"level":"warn"}}\n\n{"delete":{"_id":"2"}}\n{"create":{"_index":"b"}}\n{"@timestamp":1700000000123}\n{"update":{"_id":3}}\n{"doc":{},"doc_as_upsert":true}\n',
  },
  { path: "/logs/_doc/1?op_type=create", type: "application/json", body: '{\n"message":"a","log":{"level":"warn"}}' },
  { method: "PUT", path: "/logs", type: "application/json", body: '{"settings":{},"mappings":{"x":1},"aliases":{}}' },
  {
    path: "/loki/api/v1/push",
    type: "application/json",
    body: '{"streams":[{"stream":{"app":"shop","level":"warn"},"values":[["1700000000123456789","a",{"t":"1"}],["1","{\\"msg\\":\\"b\\"}"]]},{"labels":"{a=\\"b\\\\n\\"}","entries":[{"ts":"2026-11-20T10:00:00Z","line":"c"}]}]}',
  },
  {
    path: "/loki/api/v1/push",
    type: "application/x-protobuf",
    body: encodePush({
      streams: [
        {
          labels: '{app="shop", level="warn"}',
          entries: [
            {
              timestamp: { seconds: 1_700_000_000, nanos: 5 },
              line: "a",
              structuredMetadata: [{ name: "t", value: "1" }],
            },
            { line: '{"msg":"b","level":50}' },
          ],
        },
      ],
    }),
  },
  {
    path: "/services/collector/event",
    type: "application/json",
    body: '{"time":1700000000.1,"host":"h","event":{"message":"m","a":[1]},"fields":{"f":1}}{"time":"1","event":"}{"}\n[{"event":5}]',
  },
  { path: "/services/collector/raw?host=h&time=1", type: "text/plain", body: "one\n\ntwo" },
  { path: "/services/collector/raw?host=h", type: "text/plain", body: '{"a":"}{"}{"b":{}}{}\n{"c":1}{"d":[2]} ' },
  { path: "/services/collector/ack?channel=c", type: "application/json", body: '{"acks":[1,2,"x"]}' },
  {
    path: "/api/v2/logs?ddsource=q",
    type: "application/json",
    body: '[{"message":"m","ddtags":"a:b,c","status":"warn","timestamp":1700000000123,"http":{"x":1}},{}]',
  },
  {
    path: "/api/v2/logs?service=s",
    type: "application/json",
    body: '{"message":"{\\"level\\":\\"warn\\",\\"service\\":\\"x\\"}","service":"y"}\n{"message":{"a":{"b":1}},"status":3}[{"ddtags":["a:b"]}]',
  },
  { path: "/v1/input?ddtags=a:b", type: "text/plain", body: 'one\n{"message":"two","n":1}\n\n[three' },
  {
    path: "/loki/api/v1/push",
    type: "application/json",
    body: '{"streams":[{"labels":"{a=\\"say \\"b\\" \\\\d\\", k8s=\\"c\\"}","values":[["1","a"]]},{"labels":"{\\"k8s/x\\"=\\"y\\"}","values":[]}]}',
  },
  {
    path: "/gelf",
    type: "application/json",
    body: '{"version":"1.1","host":"h","short_message":"m","full_message":"f","timestamp":"1700000000.1","level":3,"_a":{"b":1}}',
  },
  {
    path: "/upload",
    type: "application/vnd.fdo.journal",
    body: "__CURSOR=s=1;i=1\n__REALTIME_TIMESTAMP=1767323045678901\nPRIORITY=3\nMESSAGE\n\u0005\0\0\0\0\0\0\0a\n\nb\0\n_PID=1\n\n__CURSOR=s=1;i=2\nMESSAGE=two\nX=1\nX=2\n\n",
  },
];
