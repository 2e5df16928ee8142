import { interleaved } from "./frame.ts";
import type { Bench, Benchmark, Variant } from "./frame.ts";
import { textPattern } from "../src/events/pattern.ts";
import { appendBacklog, createBacklog, prepareCatalog } from "./support/backlog.ts";
import type { Backlog } from "./support/backlog.ts";
import { createBareWriter } from "./support/bare-write.ts";
import { isFound, waitForEvents } from "./support/client.ts";
import { processorTimeOf } from "./support/engines.ts";
import { LOG } from "./support/events.ts";
import type { Shape } from "./support/events.ts";
import { clearStorage, openBus, startService } from "./support/storage.ts";
import type { Kind, ServiceStorage } from "./support/storage.ts";
import { waitUntilIdle } from "./support/idle.ts";

/** Least ratio of the pipeline's rate to that of the bare engine. */
const SHARE: Record<Kind, number> = { embedded: 0.6, cluster: 0.85 };
/** Maximum share of the patterns in the processor time of draining. */
const PATTERN_SHARE = { kind: "at most", value: 0.05 } as const;
const TIMEOUT_MS = 300_000;
const MANY = 300_000;
/** Number of events for warming up the pipeline and a cluster. */
const FEW = 60_000;
/** Number of rounds. A round on a cluster takes 40 to 50 s. */
const ROUNDS: Record<Kind, number> = { embedded: 5, cluster: 4 };
/** Interval of the progress checks, which burden an embedded service. */
const ASK_EVERY_MS: Record<Kind, number> = { embedded: 50, cluster: 25 };
/**
 * Number of events that mark the progress of an embedded service when they are found. A read by id
 * is the cheapest request.
 */
const MILESTONES = 20;

/** Progress of a backlog, from 0 to 1. */
type Progress = AsyncDisposable & { read(): Promise<number> };

export const benchmark: Benchmark = {
  name: "drain",
  about:
    "300,000 events on the bus, 20 classes, 5 subscribers (by name also 60,000 with texts of 2 KB) " +
    "| the same documents written by the bare engine",
  async run(bench) {
    await compare(bench, "plain", bench.quick ? FEW : MANY);
    if (bench.named) await compare(bench, "long", bench.quick ? FEW / 2 : FEW);
  },
};

async function compare({ world, report, quick }: Bench, shape: Shape, all: number): Promise<void> {
  const { kind } = world;
  const suffix = shape === "long" ? ", texts of 2 KB" : "";
  await using closing = new AsyncDisposableStack();
  const storage = await world.storage();
  closing.defer(() => clearStorage(storage));
  const users = await prepareCatalog(storage);
  const bare = closing.use(await createBareWriter(await world.storage(), world.folder()));
  let inFlight = 1;
  let before = 0;
  /** Processor time per event in each round. */
  let costs = { service: [] as number[], engine: [] as number[] };
  // Engines merge segments or checkpoint their log for seconds after a turn. The pauses keep that
  // out of the next turn.
  const drain = async (count: number): Promise<number> => {
    const backlog = createBacklog(count, users, shape);
    inFlight = await appendBacklog(storage, backlog);
    await waitUntilIdle();
    const engineBefore_ms = await engineCpuTime_ms(storage);
    const { perSecond, service_us } = await drainBacklog(storage, backlog, before);
    before += backlog.ofFirstLog;
    costs.service.push(service_us);
    await waitUntilIdle();
    costs.engine.push(((await engineCpuTime_ms(storage)) - engineBefore_ms) / (count / 1000));
    return perSecond;
  };
  const writeBare = async (count: number): Promise<number> => {
    await waitUntilIdle();
    return bare.write(createBacklog(count, users, shape), inFlight);
  };
  // The pipeline runs first, since it determines the number of writes in flight.
  const variants: Variant[] = [
    { name: "Loggia's pipeline", once: () => drain(all) },
    { name: kind === "embedded" ? "bare appender" : "bare client.bulk", once: () => writeBare(all) },
  ];
  await drain(Math.min(FEW, all));
  await writeBare(Math.min(FEW, all));
  costs = { service: [], engine: [] };
  const [ours, limit] = await interleaved(variants, { least: quick ? 1 : ROUNDS[kind] });
  const inFlightText = kind === "embedded" ? "" : `, ${inFlight} writes in flight`;
  const target = { kind: "at least", value: SHARE[kind] } as const;
  const name = `events drained, ${kind}${inFlightText}${suffix}`;
  report.ratio({ name, unit: "/s", ours: ours!, limit: limit!, ...(shape === "plain" && { target }) });
  const cost = (name: string, rounds: readonly number[]): void =>
    report.figure({ name: `CPU time per event, ${name}${suffix}`, unit: "µs", ours: { name, rounds } });
  cost("the service", costs.service);
  if (kind === "cluster") cost("Elasticsearch", costs.engine);
  if (shape === "long") return;
  const { events } = createBacklog(all, users);
  const patterns = costs.service.map(() => costOfPatterns_us(events));
  report.ratio({
    name: `CPU time of patterns relative to all of an event, ${kind}`,
    unit: "µs",
    ours: { name: "patterns", rounds: patterns },
    limit: { name: "the service", rounds: costs.service },
    target: PATTERN_SHARE,
  });
}

/** Returns the processor time of the pattern of a text. */
function costOfPatterns_us(events: Backlog["events"]): number {
  const start_ms = performance.now();
  let length = 0;
  for (const { text } of events) length += textPattern(text).length;
  const took_ms = performance.now() - start_ms;
  if (length === 0) throw new Error("no text has a pattern");
  return (1_000 * took_ms) / events.length;
}

/** Returns Elasticsearch's processor time so far in milliseconds; 0 if the engine is embedded. */
async function engineCpuTime_ms(storage: ServiceStorage): Promise<number> {
  if (storage.kind === "embedded") return 0;
  return processorTimeOf(storage.cluster);
}

/**
 * Result of draining a backlog: events per second, and processor time per event in the process of
 * the service.
 */
type Drained = { readonly perSecond: number; readonly service_us: number };

/**
 * Starts a service on a full bus and measures how it stores the events, from the first finished
 * batch to the last, excluding the start-up. In the end the log must hold all events.
 */
export async function drainBacklog(
  storage: ServiceStorage,
  backlog: Backlog,
  before: number,
  flags: readonly string[] = [],
): Promise<Drained> {
  await using service = await startService(storage, { flags });
  await using progress = await watch(storage, service.apiPort, backlog);
  const deadline_ms = performance.now() + TIMEOUT_MS;
  let first: { at_ms: number; busy_ms: number; done: number } | null = null;
  for (;;) {
    const done = await progress.read();
    const at_ms = performance.now();
    if (done > 0) first ??= { at_ms, busy_ms: service.cpuTime_ms(), done };
    if (done === 1) {
      const busy_ms = service.cpuTime_ms() - first!.busy_ms;
      await waitForEvents(service.apiPort, before + backlog.ofFirstLog);
      const count = (1 - first!.done) * backlog.events.length;
      return { perSecond: count / ((at_ms - first!.at_ms) / 1000), service_us: (1000 * busy_ms) / count };
    }
    if (at_ms > deadline_ms)
      throw new Error(`only ${Math.round(done * 100)} % of the events were drained within ${TIMEOUT_MS / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS[storage.kind]));
  }
}

/** Watches the progress: by events found on embedded engines, by acknowledged offsets on Kafka. */
async function watch(storage: ServiceStorage, apiPort: number, { events }: Backlog): Promise<Progress> {
  if (storage.kind === "embedded") {
    const own = events.filter(({ log }) => log === LOG);
    const milestone = (number: number) => own[Math.ceil((number / MILESTONES) * own.length) - 1]!;
    let passed = 0;
    return {
      async read() {
        while (passed < MILESTONES && (await isFound(apiPort, milestone(passed + 1).id))) passed += 1;
        return passed / MILESTONES;
      },
      async [Symbol.asyncDispose]() {},
    };
  }
  const bus = await openBus(storage);
  const start = await bus.lag("events", "pipeline");
  const sum = (next: (i: number) => number): number => start.reduce((sum, { end }, i) => sum + end - next(i), 0);
  const waiting = sum((i) => start[i]!.next);
  return {
    async read() {
      const now = await bus.lag("events", "pipeline");
      return 1 - sum((i) => now[i]!.next) / waiting;
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}
