import { interleaved } from "./frame.ts";
import type { Bench, Benchmark, Way } from "./frame.ts";
import { appendBacklog, createBacklog, prepareCatalog } from "./support/backlog.ts";
import type { Backlog } from "./support/backlog.ts";
import { createBareWriter } from "./support/bare-write.ts";
import { holds, isFound } from "./support/client.ts";
import { LOG } from "./support/events.ts";
import { clearPlace, openBus, startService } from "./support/places.ts";
import type { Kind, Place } from "./support/places.ts";
import { atRest } from "./support/rest.ts";

/** How much of the bare engine's rate the pipeline is to reach. */
const SHARE: Record<Kind, number> = { embedded: 0.6, cluster: 0.85 };
const TIMEOUT_MS = 300_000;
/** Asking an embedded service how far it is costs it something. */
const ASK_EVERY_MS: Record<Kind, number> = { embedded: 50, cluster: 25 };
/** Events that tell how far an embedded service is, once they are found: a look at one by its id is the cheapest question. */
const MILESTONES = 20;

/** How much of a backlog is done, from 0 to 1. */
type Progress = AsyncDisposable & { read(): Promise<number> };

export const benchmark: Benchmark = {
  name: "drain",
  about: "300,000 events waiting on the bus, 20 classes, 5 subscribed users | the same documents by the bare engine",
  run: compare,
};

async function compare({ world, report, quick }: Bench): Promise<void> {
  const { kind } = world;
  const count = quick ? 60_000 : 300_000;
  await using closing = new AsyncDisposableStack();
  const place = await world.place();
  closing.defer(() => clearPlace(place));
  const users = await prepareCatalog(place);
  const bare = closing.use(await createBareWriter(await world.place(), world.folder()));
  let inFlight = 1;
  let before = 0;
  // Engines go on merging, or folding their log in, for seconds after a turn: what they have left is not the next one's to pay for.
  const drain = async (): Promise<number> => {
    const backlog = createBacklog(count, users);
    inFlight = await appendBacklog(place, backlog);
    await atRest();
    const rate = await drainBacklog(place, backlog, before);
    before += backlog.ofFirstLog;
    return rate;
  };
  const writeBare = async (): Promise<number> => {
    await atRest();
    return bare.write(createBacklog(count, users), inFlight);
  };
  // The pipeline goes first, because it tells how many writes are in flight.
  const ways: Way[] = [
    { name: "Loggia's pipeline", once: drain },
    { name: kind === "embedded" ? "bare appender" : "bare client.bulk", once: writeBare },
  ];
  const [ours, limit] = await interleaved(ways, { least: quick ? 1 : 5 });
  const flight = kind === "embedded" ? "" : `, ${inFlight} writes in flight`;
  const target = { kind: "at least", value: SHARE[kind] } as const;
  report.ratio({ name: `events drained, ${kind}${flight}`, unit: "/s", ours: ours!, limit: limit!, target });
}

/**
 * Starts a service on a full bus and answers how many events a second went into the store, from the first batch that was done to the last:
 * starting up does not count. At the end the log must hold all of them.
 */
export async function drainBacklog(
  place: Place,
  backlog: Backlog,
  before: number,
  flags: readonly string[] = [],
): Promise<number> {
  await using service = await startService(place, { flags });
  await using progress = await watch(place, service.apiPort, backlog);
  const deadline_ms = performance.now() + TIMEOUT_MS;
  let first: { at_ms: number; done: number } | null = null;
  for (;;) {
    const done = await progress.read();
    const at_ms = performance.now();
    if (done > 0) first ??= { at_ms, done };
    if (done === 1) {
      await holds(service.apiPort, before + backlog.ofFirstLog);
      return ((1 - first!.done) * backlog.events.length) / ((at_ms - first!.at_ms) / 1000);
    }
    if (at_ms > deadline_ms) throw new Error(`Only ${Math.round(done * 100)} % of the events were drained in time`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS[place.kind]));
  }
}

/** The embedded engines tell by what is found, in order, Kafka by what the group has acknowledged. */
async function watch(place: Place, apiPort: number, { events }: Backlog): Promise<Progress> {
  if (place.kind === "embedded") {
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
  const bus = await openBus(place);
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
