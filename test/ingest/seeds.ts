import { encodePush } from "./protocols/loki-proto.ts";
import { encodeRequest } from "./protocols/otlp-proto.ts";

/** A request of a protocol that is understood: what fuzzing starts from. */
export type Seed = {
  readonly method?: string;
  readonly path: string;
  readonly type: string;
  readonly body: string | Buffer;
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

export const SEEDS: readonly Seed[] = [
  { path: "/lines", type: "text/plain", body: "first\r\nsecond é\n\nthird" },
  {
    path: "/lines?text_field=m&tags=a",
    type: "application/x-ndjson",
    body: '{"time":1700000000123,"level":30,"m":"x","a":{"b":[1,{"c":null}]},"tags":["t"]}\n{"@timestamp":"2026-11-20T10:00:00.1Z"}\nx',
  },
  { path: "/v1/logs", type: "application/json", body: JSON.stringify(OTLP) },
  { path: "/v1/logs", type: "application/x-protobuf", body: encodeRequest(OTLP) },
  {
    path: "/logs/_bulk?filter_path=errors,items.*.status",
    type: "application/x-ndjson",
    body: '{"index":{"_id":"1"}}\n{"message":"a","log":{"level":"warn"}}\n\n{"delete":{"_id":"2"}}\n{"create":{"_index":"b"}}\n{"@timestamp":1700000000123}\n{"update":{"_id":3}}\n{"doc":{},"doc_as_upsert":true}\n',
  },
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
  { path: "/services/collector/ack?channel=c", type: "application/json", body: '{"acks":[1,2,"x"]}' },
  {
    path: "/api/v2/logs?ddsource=q",
    type: "application/json",
    body: '[{"message":"m","ddtags":"a:b,c","status":"warn","timestamp":1700000000123,"http":{"x":1}},{}]',
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
