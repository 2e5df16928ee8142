import { interleaved } from "./frame.ts";
import type { Benchmark, Variant } from "./frame.ts";
import { waitForEvents } from "./support/client.ts";
import { API_KEY, formOf, LOG, postRequest } from "./support/events.ts";
import type { Job } from "./support/load.ts";
import { clearStorage, createFirstRecords, startService } from "./support/storage.ts";
import type { Kind } from "./support/storage.ts";
import { waitUntilIdle } from "./support/idle.ts";
import type { World } from "./support/world.ts";

export const CONNECTIONS = 64;
/** Least ratio of each engine's rate to the limit. */
const SHARE: Record<Kind, number> = { embedded: 0.75, cluster: 0.6 };
const REQUESTS = 1_000;
const LASTING_MS = 20_000;
/** Warm-up of each way. Kafka, which is compiled as it runs, starts much slower. */
const WARM_MS: Record<Kind, number> = { embedded: 4_000, cluster: 16_000 };

export const POSTS: readonly string[] = postsOf("plain");

function postsOf(shape: "plain" | "long"): readonly string[] {
  const path = `/1/logs/${LOG}/events`;
  return Array.from({ length: REQUESTS }, (_, i) => postRequest(path, formOf(i, API_KEY, shape)));
}

/** The service for posting: complete in one process if embedded, the posting role on a cluster. */
export type Posting = AsyncDisposable & {
  readonly name: string;
  readonly port: number;
  /** Waits until no posted event is in flight, so as not to burden the next measurement. */
  settle(answered: number): Promise<void>;
};

export async function startPosting(world: World, flags: readonly string[] = []): Promise<Posting> {
  const { kind } = world;
  await using closing = new AsyncDisposableStack();
  const storage = await world.storage();
  closing.defer(() => clearStorage(storage));
  if (kind === "cluster") await createFirstRecords(storage);
  const service = closing.use(await startService(storage, kind === "cluster" ? { roles: "post", flags } : { flags }));
  let posted = 0;
  const open = closing.move();
  return {
    name: kind === "embedded" ? "Loggia, embedded" : "Loggia, posting role, Kafka",
    port: service.postPort,
    async settle(answered) {
      posted += answered;
      if (kind === "embedded") await waitForEvents(service.apiPort, posted);
      // An embedded store tidies up after a second without writes.
      await waitUntilIdle(kind === "embedded" ? 2_000 : 1_000);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

export function jobOf(port: number, duration_ms: number, perSecond: number | null, requests = POSTS): Job {
  return { host: "127.0.0.1", port, connections: CONNECTIONS, requests, perSecond, duration_ms, expect: 201 };
}

export const benchmark: Benchmark = {
  name: "post",
  about:
    `one event per request, ${CONNECTIONS} keep-alive connections, 201 after the durable write ` +
    "| node:http parsing the same form",
  async run(bench) {
    const { world, report, quick } = bench;
    const generator = await world.generator();
    const limit = await world.limitServer();
    await using posting = await startPosting(world);

    const variantsOf = (run_ms: number, requests = POSTS): Variant[] => {
      const rate = async (port: number, settle: Posting["settle"]): Promise<number> => {
        const { perSecond, answered } = await generator.run(jobOf(port, run_ms, null, requests));
        await settle(answered);
        return perSecond;
      };
      return [
        { name: "node:http", once: () => rate(limit.port, async () => {}) },
        { name: posting.name, once: () => rate(posting.port, (answered) => posting.settle(answered)) },
      ];
    };
    const variants = variantsOf(quick ? 700 : 4_000);
    for (const variant of quick ? variants : variantsOf(WARM_MS[world.kind])) await variant.once();
    const [first, ours] = await interleaved(variants, { least: quick ? 2 : 5 });
    const target = { kind: "at least", value: SHARE[world.kind] } as const;
    report.ratio({ name: `posts, ${world.kind}`, unit: "/s", ours: ours!, limit: first!, target });
    if (bench.named) {
      const variants = variantsOf(quick ? 700 : 4_000, postsOf("long"));
      const [first, ours] = await interleaved(variants, { least: quick ? 2 : 5 });
      report.ratio({ name: `posts with texts of 2 KB, ${world.kind}`, unit: "/s", ours: ours!, limit: first! });
    }
    // The embedded pipeline pauses during a burst, for at most 5 s. Lasting load is a separate
    // figure.
    if (quick || !bench.named || world.kind === "cluster") return;
    const [bare, lasting] = await interleaved(variantsOf(LASTING_MS), { least: 3 });
    report.ratio({ name: `posts for ${LASTING_MS / 1_000} s, embedded`, unit: "/s", ours: lasting!, limit: bare! });
  },
};
