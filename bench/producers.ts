import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { interleaved } from "./frame.ts";
import type { Bench, Benchmark, Figures, Target, Variant } from "./frame.ts";
import { get, waitForEvents } from "./support/client.ts";
import { API_KEY, LOG } from "./support/events.ts";
import type { Generator } from "./support/load.ts";
import { clearStorage, startService } from "./support/storage.ts";
import { cpuTimeOfThreads } from "./support/processes.ts";
import type { ServiceProcess } from "./support/processes.ts";
import {
  bulkRequest,
  forwardMessage,
  gelfMessages,
  lokiRequest,
  ndjsonRequest,
  otlpJsonRequest,
  otlpProtobufRequest,
  splunkRequest,
  syslogLines,
} from "./support/producer-bodies.ts";
import { waitUntilIdle } from "./support/idle.ts";
import { startStreamer } from "./support/stream-load.ts";
import type { Streamer } from "./support/stream-load.ts";

const BATCH = 1_000;
/** Usual batch size of the OpenTelemetry Collector. */
const COLLECTOR_BATCH = 8_192;
const CONNECTIONS = 4;
/** Number of different requests of each kind, sent in turn. */
const REQUESTS = 8;
const LINES = 200_000;
const OURS = "NDJSON, 1,000";

/** Builds the `n`-th request with `count` events. */
type Request = (n: number, count: number) => Buffer;

/** A protocol by which events are posted. */
type Producer = {
  readonly name: string;
  /** Least ratio to native batches; null for no verdict. */
  readonly share: number | null;
  /** Least number of events per second; null for no verdict. */
  readonly least: number | null;
} & (
  | { readonly by: "http"; readonly batch: number; readonly expect: number; readonly request: Request }
  | { readonly by: "tcp"; readonly listener: string; readonly metric: string; readonly payload: () => Buffer }
);

const HTTP = { by: "http", batch: BATCH, expect: 200, share: null, least: null } as const;
const TCP = { by: "tcp", share: null, least: null } as const;
const SYSLOG = { ...TCP, listener: "syslog tcp", metric: "syslog_tcp", least: 60_000 } as const;

const PRODUCERS: readonly Producer[] = [
  { ...HTTP, name: OURS, expect: 201, request: ndjsonRequest },
  { ...HTTP, name: "OTLP protobuf, 1,000", share: 0.6, request: otlpProtobufRequest },
  { ...HTTP, name: "OTLP protobuf, 8,192", batch: COLLECTOR_BATCH, share: 0.6, request: otlpProtobufRequest },
  { ...HTTP, name: "OTLP JSON, 1,000", request: otlpJsonRequest },
  { ...HTTP, name: "_bulk, 1,000", share: 0.6, request: bulkRequest },
  { ...HTTP, name: "Loki protobuf, 1,000", expect: 204, request: lokiRequest },
  { ...HTTP, name: "Splunk HEC, 1,000", request: splunkRequest },
  {
    ...SYSLOG,
    name: "syslog TCP, octet-counted",
    payload: () => joined(syslogLines(BATCH).map((line) => `${Buffer.byteLength(line)} ${line}`)),
  },
  { ...SYSLOG, name: "syslog TCP, LF", payload: () => joined(syslogLines(BATCH).map((line) => `${line}\n`)) },
  {
    ...TCP,
    name: "GELF TCP",
    listener: "gelf tcp",
    metric: "gelf_tcp",
    payload: () => joined(gelfMessages(BATCH).map((message) => `${message}\0`)),
  },
  {
    ...TCP,
    name: "Fluent forward, packed",
    listener: "forward tcp",
    metric: "forward",
    payload: () => forwardMessage(BATCH),
  },
];

function joined(parts: readonly string[]): Buffer {
  return Buffer.from(parts.join(""));
}

const SETTINGS = {
  LOGGIA_SYSLOG: `tcp://127.0.0.1:0/${LOG}`,
  LOGGIA_GELF: `tcp://127.0.0.1:0/${LOG}`,
  LOGGIA_FORWARD: `tcp://127.0.0.1:0/${LOG}`,
};

export const benchmark: Benchmark = {
  name: "producers",
  kind: "embedded",
  isOptIn: true,
  about: "events/s of each protocol of other producers | the same events as NDJSON batches",
  run: compare,
};

async function compare({ world, report, quick }: Bench): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const storage = await world.storage();
  closing.defer(() => clearStorage(storage));
  const service = closing.use(await startService(storage, { settings: SETTINGS }));
  const streamer = closing.use(await startStreamer());
  const generator = await world.generator();
  const load = new Load(service, generator, streamer, quick ? 500 : 2_500);
  const variants = PRODUCERS.map((producer) => load.variantOf(producer));
  for (const variant of variants) await variant.once();
  load.costs.clear();
  const figures = await interleaved(variants, { least: quick ? 1 : 5 });
  const [limit, ...others] = figures;
  for (const [i, ours] of others.entries()) {
    const { name, share, least } = PRODUCERS[i + 1]!;
    report.ratio({ name, unit: "/s", ours, limit: limit!, ...targetOf(share) });
    if (least !== null) report.figure({ name: `${name}, absolute`, unit: "/s", ours, ...targetOf(least) });
  }
  for (const [i, costs] of [...load.costs.values()].entries()) {
    const ours: Figures = { name: "", rounds: costs };
    report.figure({ name: `main thread: ${PRODUCERS[i]!.name}`, unit: "µs", ours });
  }
  const shipped: number[] = [];
  for (let round = 0; round < (quick ? 1 : 3); round++) {
    const folder = world.folder();
    shipped.push(await load.ship(folder, quick ? LINES / 10 : LINES * 3));
  }
  const ours: Figures = { name: "", rounds: shipped };
  report.figure({ name: "loggia ship, lines of one file", unit: "/s", ours, ...targetOf(150_000) });
}

function targetOf(value: number | null): { target?: Target } {
  return value === null ? {} : { target: { kind: "at least", value } };
}

/** Posts to one service. All posted events are drained before a turn ends. */
class Load {
  /** Processor time of the service's main thread per event, until all events are stored. */
  readonly costs = new Map<string, number[]>();
  readonly #service: ServiceProcess;
  readonly #generator: Generator;
  readonly #streamer: Streamer;
  readonly #duration_ms: number;
  #posted = 0;

  constructor(service: ServiceProcess, generator: Generator, streamer: Streamer, duration_ms: number) {
    this.#service = service;
    this.#generator = generator;
    this.#streamer = streamer;
    this.#duration_ms = duration_ms;
  }

  variantOf(producer: Producer): Variant {
    this.costs.set(producer.name, []);
    const run = producer.by === "http" ? this.#byHttp(producer) : this.#byTcp(producer);
    const once = async (): Promise<number> => {
      const before_ms = cpuTimeOfThreads(this.#service.pid).main_ms;
      const start_ms = performance.now();
      const events = await run();
      const took_s = (performance.now() - start_ms) / 1_000;
      const cost_us = ((cpuTimeOfThreads(this.#service.pid).main_ms - before_ms) * 1_000) / events;
      const costs = this.costs.get(producer.name) ?? [];
      costs.push(cost_us);
      this.costs.set(producer.name, costs);
      this.#posted += events;
      await this.#settle();
      return events / took_s;
    };
    return { name: producer.name, once };
  }

  #byHttp({ request, batch, expect }: Producer & { by: "http" }): () => Promise<number> {
    const requests = Array.from({ length: REQUESTS }, (_, n) => request(n, batch));
    const address = { host: "127.0.0.1", port: this.#service.postPort, connections: CONNECTIONS };
    const job = { ...address, requests, perSecond: null, duration_ms: this.#duration_ms, expect };
    return async () => batch * (await this.#generator.run(job)).answered;
  }

  #byTcp({ listener, metric, payload: build }: Producer & { by: "tcp" }): () => Promise<number> {
    const port = this.#service.listenerPorts().get(listener);
    if (port === undefined) throw new Error(`the service has no listener ${listener}`);
    const job = { port, payload: build(), connections: CONNECTIONS, duration_ms: this.#duration_ms };
    return async () => {
      const before = await this.#storedBy(metric);
      const events = BATCH * (await this.#streamer.run(job)).written;
      while ((await this.#storedBy(metric)) < before + events) await sleep(20);
      return events;
    };
  }

  async #storedBy(metric: string): Promise<number> {
    const { body } = await get(this.#service.apiPort, "/metrics", {});
    return Number(
      new RegExp(`^loggia_listener_events_total\\{[^}]*"${metric}"[^}]*\\} (\\d+)`, "m").exec(body)?.[1] ?? 0,
    );
  }

  /** Returns lines per second of one file by `loggia ship`, including its start. */
  async ship(folder: string, lines: number): Promise<number> {
    const file = join(folder, "shop.log");
    const step = syslogLines(BATCH).map((line) => line.slice(line.indexOf("] ") + 2));
    for (let n = 0; n < lines; n += BATCH) appendFileSync(file, `${step.join("\n")}\n`);
    const start_ms = performance.now();
    const command = resolve(import.meta.dirname, "../src/cli/loggia.mjs");
    const places = ["--post", `127.0.0.1:${this.#service.postPort}`, "--log", LOG, "--key", API_KEY];
    const child = spawn(process.execPath, [command, "ship", file, ...places, "--state", join(folder, "state")], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code] = (await once(child, "exit")) as [number];
    if (code !== 0) throw new Error(`loggia ship exited with code ${code}`);
    const took_s = (performance.now() - start_ms) / 1_000;
    this.#posted += lines;
    await this.#settle();
    return lines / took_s;
  }

  async #settle(): Promise<void> {
    await waitForEvents(this.#service.apiPort, this.#posted);
    await waitUntilIdle(1_000);
  }
}
