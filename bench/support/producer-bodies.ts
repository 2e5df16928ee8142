import { encode } from "@msgpack/msgpack";
import protobuf from "protobufjs";

import { API_KEY, LOG } from "./events.ts";

/** A log record with content that all protocols can express. */
type LogEntry = {
  readonly at_ms: number;
  readonly text: string;
  readonly severity: "info" | "warn" | "error";
  readonly service: string;
  readonly host: string;
  readonly attributes: Readonly<{ [name: string]: string | number }>;
};

const SEVERITIES = ["info", "info", "info", "warn", "error"] as const;
const OTEL_NUMBERS = { info: 9, warn: 13, error: 17 } as const;
const SYSLOG_NUMBERS = { info: 6, warn: 4, error: 3 } as const;
const ROUTES = ["/shop/carts", "/shop/orders", "/shop/users", "/login"];

function recordOf(i: number): LogEntry {
  return {
    at_ms: START_MS + i,
    text: `rendered page for customer ${(i * 7_919) % 90_000} in ${i % 3_000} ms`,
    severity: SEVERITIES[i % SEVERITIES.length]!,
    service: `shop-${i % 4}`,
    host: `node-${i % 20}.eu-west`,
    attributes: {
      "http.route": ROUTES[i % ROUTES.length]!,
      "http.status": i % 50 === 0 ? 500 : 200,
      duration_ms: (i % 30_000) / 10,
      trace_id: (BigInt(i + 1) * 0x9e3779b97f4a7c15f39cc0605cedc835n).toString(16).padStart(32, "0").slice(-32),
    },
  };
}

/** In the recent past, so that no event is ahead of the clock. */
const START_MS = Date.now() - 3_600_000;

/** Returns the `n`-th sequence of `count` records. */
function recordsOf(n: number, count: number): LogEntry[] {
  return Array.from({ length: count }, (_, i) => recordOf(n * count + i));
}

/** Returns a native batch: one event per line, with the content of the other protocols. */
export function ndjsonRequest(n: number, count: number): Buffer {
  const lines = recordsOf(n, count).map(({ at_ms, text, severity, service, host, attributes }) =>
    JSON.stringify({
      text,
      tags: [severity],
      source: service,
      created: at_ms,
      attributes: { "host.name": host, "service.name": service, severity_text: severity, ...attributes },
    }),
  );
  return httpRequest(`/1/logs/${LOG}/events`, "application/x-ndjson", lines.join("\n"));
}

const { root } = protobuf.parse(`
syntax = "proto3";
message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; double double_value = 4; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; }
message LogRecord { fixed64 time_unix_nano = 1; int32 severity_number = 2; string severity_text = 3;
  AnyValue body = 5; repeated KeyValue attributes = 6; bytes trace_id = 9; fixed64 observed_time_unix_nano = 11; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ExportRequest { repeated ResourceLogs resource_logs = 1; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Pair { string name = 1; string value = 2; }
message Entry { Timestamp timestamp = 1; string line = 2; repeated Pair structuredMetadata = 3; }
message Stream { string labels = 1; repeated Entry entries = 2; }
message PushRequest { repeated Stream streams = 1; }
`);

/**
 * Returns an OpenTelemetry export request with a resource per service and host, as SDKs and the
 * Collector send it.
 */
function exportOf(records: readonly LogEntry[]): object {
  const resources = Map.groupBy(records, ({ service, host }) => `${service} ${host}`);
  const resourceLogs = Array.from(resources.values(), (own) => ({
    resource: { attributes: pairsOf({ "service.name": own[0]!.service, "host.name": own[0]!.host }) },
    scopeLogs: [{ scope: { name: "shop" }, logRecords: own.map(logRecordOf) }],
  }));
  return { resourceLogs };
}

function logRecordOf({ at_ms, text, severity, attributes: { trace_id: traceId, ...attributes } }: LogEntry): object {
  return {
    timeUnixNano: `${at_ms}000000`,
    severityNumber: OTEL_NUMBERS[severity],
    severityText: severity,
    body: { stringValue: text },
    attributes: pairsOf(attributes),
    traceId,
  };
}

function pairsOf(values: LogEntry["attributes"]): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value:
      typeof value === "string"
        ? { stringValue: value }
        : Number.isInteger(value)
          ? { intValue: value }
          : { doubleValue: value },
  }));
}

function encoded(type: string, message: object): Buffer {
  const messages = root.lookupType(type);
  return Buffer.from(messages.encode(messages.fromObject(message)).finish());
}

export function otlpProtobufRequest(n: number, count: number): Buffer {
  const request = JSON.parse(JSON.stringify(exportOf(recordsOf(n, count)))) as {
    resourceLogs: { scopeLogs: { logRecords: { traceId: string | Buffer }[] }[] }[];
  };
  for (const record of request.resourceLogs.flatMap((one) => one.scopeLogs.flatMap((scope) => scope.logRecords))) {
    record.traceId = Buffer.from(record.traceId as string, "hex");
  }
  return httpRequest("/v1/logs", "application/x-protobuf", encoded("ExportRequest", request));
}

export function otlpJsonRequest(n: number, count: number): Buffer {
  return httpRequest("/v1/logs", "application/json", JSON.stringify(exportOf(recordsOf(n, count))));
}

export function bulkRequest(n: number, count: number): Buffer {
  const lines = recordsOf(n, count).map(({ at_ms, text, severity, service, host, attributes }) => {
    const names = { "service.name": service, "host.name": host, "log.level": severity };
    const time = new Date(at_ms).toISOString();
    return `{"create":{}}\n${JSON.stringify({ "@timestamp": time, message: text, ...names, ...attributes })}\n`;
  });
  return httpRequest("/logs-shop/_bulk", "application/x-ndjson", lines.join(""));
}

export function lokiRequest(n: number, count: number): Buffer {
  const streams = Map.groupBy(recordsOf(n, count), ({ service, host, severity }) =>
    JSON.stringify([service, host, severity]),
  );
  const push = {
    streams: Array.from(streams.values(), (own) => ({
      labels: `{service_name="${own[0]!.service}", host="${own[0]!.host}", level="${own[0]!.severity}"}`,
      entries: own.map(({ at_ms, text, attributes }) => ({
        timestamp: { seconds: Math.floor(at_ms / 1_000), nanos: (at_ms % 1_000) * 1_000_000 },
        line: text,
        structuredMetadata: Object.entries(attributes).map(([name, value]) => ({ name, value: String(value) })),
      })),
    })),
  };
  return httpRequest("/loki/api/v1/push", "application/x-protobuf", snappy(encoded("PushRequest", push)));
}

/** Returns an uncompressed snappy block, as compression is not measured. */
function snappy(bytes: Buffer): Buffer {
  const head: number[] = [];
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) head.push((left & 0x7f) | 0x80);
  const length = Buffer.alloc(5);
  length[0] = 63 << 2;
  length.writeUInt32LE(bytes.length - 1, 1);
  return Buffer.concat([Buffer.from([...head, left]), length, bytes]);
}

export function splunkRequest(n: number, count: number): Buffer {
  const objects = recordsOf(n, count).map(({ at_ms, text, severity, service, host, attributes }) =>
    JSON.stringify({
      time: at_ms / 1_000,
      host,
      source: service,
      event: { message: text, severity, ...attributes },
    }),
  );
  return httpRequest("/services/collector/event", "application/json", objects.join(""));
}

/** Returns lines of RFC 5424, with all fields that the header lacks as structured data. */
export function syslogLines(count: number): string[] {
  return recordsOf(0, count).map(({ at_ms, text, severity, service, host, attributes }) => {
    const data = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`);
    const head = `<${16 * 8 + SYSLOG_NUMBERS[severity]}>1 ${new Date(at_ms).toISOString()} ${host} ${service} 4711 -`;
    return `${head} [shop@32473${data.join("")}] ${text}`;
  });
}

export function gelfMessages(count: number): string[] {
  return recordsOf(0, count).map(({ at_ms, text, severity, service, host, attributes }) => {
    const extra = Object.entries(attributes).map(([name, value]) => [`_${name}`, value]);
    const level = SYSLOG_NUMBERS[severity];
    const message = { version: "1.1", host, short_message: text, timestamp: at_ms / 1_000, level, _service: service };
    return JSON.stringify({ ...message, ...(Object.fromEntries(extra) as object) });
  });
}

/** Returns a message of Fluent forward in packed mode. */
export function forwardMessage(count: number): Buffer {
  const entries = recordsOf(0, count).map(({ at_ms, text, severity, service, host, attributes }) =>
    encode([Math.floor(at_ms / 1_000), { message: text, level: severity, service, hostname: host, ...attributes }]),
  );
  return Buffer.from(encode(["shop", Buffer.concat(entries), { size: count }]));
}

function httpRequest(path: string, type: string, body: string | Buffer): Buffer {
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nX-API-Key: ${API_KEY}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}
