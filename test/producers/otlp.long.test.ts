import { credentials, Metadata } from "@grpc/grpc-js";
import { OTLPLogExporter as GrpcExporter } from "@opentelemetry/exporter-logs-otlp-grpc";
import { OTLPLogExporter as JsonExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPLogExporter as ProtobufExporter } from "@opentelemetry/exporter-logs-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import type { LogRecordExporter } from "@opentelemetry/sdk-logs";
import test from "ava";
import type { ExecutionContext } from "ava";

import { listeningService, portOf } from "../ingest/listeners/sockets.ts";
import { eventsOf } from "../ingest/posting.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { KEY, serviceOf } from "../support/service.ts";
import type { Service } from "../support/service.ts";

const COUNT = 1_000;
/** Time limit of an export, longer than a busy machine takes. */
const EXPORT_MS = 60_000;
const NUMBERS = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 } as const;
const SEVERITIES = Object.keys(NUMBERS) as (keyof typeof NUMBERS)[];

const EXPORTERS = {
  JSON: JsonExporter,
  protobuf: ProtobufExporter,
} as const;

for (const kind of KINDS) {
  for (const [name, Exporter] of Object.entries(EXPORTERS)) {
    for (const compression of ["none", "gzip"] as const) {
      test(`${kind}: the ${name} exporter of OpenTelemetry posts with compression ${compression}`, async (t) => {
        const service = await serviceOf(t, kind);
        const exporter = new Exporter({
          url: `${service.postUrl}/v1/logs`,
          headers: { Authorization: `Bearer ${KEY}` },
          compression: compression as never,
          timeoutMillis: EXPORT_MS,
        });
        await assertExported(t, service, exporter);
      });
    }
  }
}

for (const kind of KINDS) {
  for (const compression of ["none", "gzip"] as const) {
    test(`${kind}: the gRPC exporter of OpenTelemetry posts with compression ${compression}`, async (t) => {
      const service = await listeningService(t, { LOGGIA_OTLP_GRPC: "127.0.0.1:0" }, kind);
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer ${KEY}`);
      const exporter = new GrpcExporter({
        url: `http://127.0.0.1:${portOf(service)}`,
        credentials: credentials.createInsecure(),
        metadata,
        compression: compression as never,
        timeoutMillis: EXPORT_MS,
      });
      await assertExported(t, service, exporter);
    });
  }
}

/** Exports records with every field, and checks the stored events. */
async function assertExported(t: ExecutionContext, service: Service, exporter: LogRecordExporter): Promise<void> {
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ "service.name": "checkout", "host.name": "box-1", "process.pid": 7 }),
    processors: [new BatchLogRecordProcessor({ exporter, maxExportBatchSize: 300, exportTimeoutMillis: EXPORT_MS })],
  });
  const logger = provider.getLogger("producer", "1.2.3");
  const start_ms = Date.now() - 3_600_000;
  for (let i = 0; i < COUNT; i++) {
    const severity = SEVERITIES[i % SEVERITIES.length]!;
    const record: unknown = {
      timestamp: [Math.floor((start_ms + i) / 1000), ((start_ms + i) % 1000) * 1e6 + 789],
      severityNumber: NUMBERS[severity],
      severityText: severity.toUpperCase(),
      body: `order ${i} é`,
      eventName: "order.done",
      attributes: { n: i, half: i + 0.5, ok: i % 2 === 0, list: ["a", "b"], nested: { deep: { id: `x${i}` } } },
    };
    logger.emit(record as Parameters<typeof logger.emit>[0]);
  }
  await provider.forceFlush();
  await provider.shutdown();
  const events = new Map((await eventsOf(service, COUNT)).map((event) => [event.text, event]));
  t.is(events.size, COUNT);
  for (let i = 0; i < COUNT; i++) {
    const event = events.get(`order ${i} é`)!;
    const { attributes = {} } = event;
    t.is(event.source, "checkout");
    t.deepEqual(event.tags, [SEVERITIES[i % SEVERITIES.length]!]);
    t.true(event.created.includes(String(start_ms + i)), event.created);
    t.like(attributes, {
      n: i,
      half: i + 0.5,
      ok: i % 2 === 0,
      list: ["a", "b"],
      "nested.deep.id": `x${i}`,
      "service.name": "checkout",
      "host.name": "box-1",
      "process.pid": 7,
      "otel.scope.name": "producer",
      "otel.scope.version": "1.2.3",
      event_name: "order.done",
    });
    t.is(attributes["time_ns"], `${start_ms + i}000789`);
  }
}
