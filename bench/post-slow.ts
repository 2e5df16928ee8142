import { interleaved, quantile } from "./frame.ts";
import type { Benchmark, Variant } from "./frame.ts";
import { jobOf, startPosting } from "./post.ts";
import type { Kind } from "./support/storage.ts";

const P99_MS: Record<Kind, number> = { embedded: 20, cluster: 50 };

export const benchmark: Benchmark = {
  name: "post-slow",
  about: "p99 of a post at half the maximum rate | node:http at the same rate",
  async run(bench) {
    const { world, report, quick } = bench;
    const duration_ms = quick ? 700 : 5_000;
    const generator = await world.generator();
    const limit = await world.limitServer();
    const { kind } = world;
    await using posting = await startPosting(world);
    const post = async (port: number, run_ms: number, perSecond: number | null) => {
      const outcome = await generator.run(jobOf(port, run_ms, perSecond));
      if (port === posting.port) await posting.settle(outcome.answered);
      return outcome;
    };
    await post(posting.port, duration_ms / 2, null);
    const top = (await post(posting.port, duration_ms / 2, null)).perSecond;
    const half = Math.round(top / 2);
    const p99 = async (port: number): Promise<number> =>
      quantile((await post(port, duration_ms, half)).latencies_ms, 0.99);
    const variants: Variant[] = [
      { name: "node:http", once: () => p99(limit.port) },
      { name: posting.name, once: () => p99(posting.port) },
    ];
    const [first, ours] = await interleaved(variants, { least: quick ? 2 : 5 });
    report.line(
      `  ${kind}: ${half.toLocaleString("en-US")} posts/s, half of ${Math.round(top).toLocaleString("en-US")}`,
    );
    report.ratio({ name: `p99 of a post, ${kind}, relative to node:http`, unit: "ms", ours: ours!, limit: first! });
    report.figure({
      name: `p99 of a post, ${kind}`,
      unit: "ms",
      ours: ours!,
      target: { kind: "at most", value: P99_MS[kind] },
    });
  },
};
