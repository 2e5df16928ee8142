import { median, quantile, show } from "./frame.ts";
import type { Bench, Benchmark } from "./frame.ts";
import { CONNECTIONS, jobOf as postJobOf } from "./post.ts";
import { waitForEvents } from "./support/client.ts";
import { API_KEY, getRequest, LOG } from "./support/events.ts";
import { startGenerator } from "./support/load.ts";
import { clearStorage, startService } from "./support/storage.ts";
import type { ServiceProcess } from "./support/processes.ts";

const MOST_MB = { post: 200, api: 200, pipeline: 350 } as const;
/** Maximum growth of a process from the middle third of the time to the last third. */
const FLAT = { kind: "at most", value: 1.1 } as const;
const SAMPLE_MS = 500;
const READERS = 4;
const QUESTIONS = [
  `/1/logs/${LOG}/events?order=desc&pagesize=100`,
  `/1/logs/${LOG}/events?order=desc&pagesize=500`,
  `/1/logs/${LOG}/events?order=desc&tags=error&source=web-07`,
  `/1/logs/${LOG}/query?query=${encodeURIComponent("GET events GROUPBY source")}`,
];

type Sampled = { readonly name: keyof typeof MOST_MB; readonly process: ServiceProcess; readonly samples_mb: number[] };

export const benchmark: Benchmark = {
  name: "memory",
  about: "one process per role at the maximum rate for three minutes, on a cluster | resident memory of each process",
  // Embedded engines are part of the service's process.
  kind: "cluster",
  run: measure,
};

/**
 * Posts faster than the pipeline processes, so that it is never idle, while readers send their next
 * request as soon as they have a response.
 */
async function measure({ world, report, quick }: Bench): Promise<void> {
  const duration_ms = quick ? 5_000 : 180_000;
  await using closing = new AsyncDisposableStack();
  const storage = await world.storage();
  closing.defer(() => clearStorage(storage));
  const roles: Sampled[] = [];
  for (const name of ["post", "pipeline", "api"] as const) {
    const process = closing.use(await startService(storage, { roles: name }));
    roles.push({ name, process, samples_mb: [] });
  }
  const [post, , api] = roles.map(({ process }) => process);
  const poster = await world.generator();
  // The first event of a month creates its index, which the queries need.
  const { answered } = await poster.run({ ...postJobOf(post!.postPort, 100, null), connections: 1 });
  await waitForEvents(api!.apiPort, answered);
  const reader = closing.use(await startGenerator());
  const reading = reader.run({
    host: "127.0.0.1",
    port: api!.apiPort,
    connections: READERS,
    requests: QUESTIONS.map((path) => getRequest(`${path}&apikey=${API_KEY}`)),
    perSecond: null,
    duration_ms,
    expect: 200,
  });
  const posting = poster.run(postJobOf(post!.postPort, duration_ms, null));
  const sampling = setInterval(() => {
    for (const { process, samples_mb } of roles) samples_mb.push(process.residentBytes() / 2 ** 20);
  }, SAMPLE_MS);
  const [posted, read] = await Promise.all([posting, reading]).finally(() => clearInterval(sampling));
  report.line(
    `  load: ${show(posted.perSecond, "/s")} posts/s over ${CONNECTIONS} connections and ` +
      `${show(read.perSecond, "/s")} queries/s over ${READERS}`,
  );
  for (const role of roles) judge(report, role);
}

function judge(report: Bench["report"], { name, samples_mb }: Sampled): void {
  const third = Math.floor(samples_mb.length / 3);
  const [middle, last] = [samples_mb.slice(third, 2 * third), samples_mb.slice(2 * third)];
  report.line(
    `  ${name}: ${show(samples_mb[0]!, "MB")} MB at start, ${show(quantile(samples_mb, 1), "MB")} MB at peak`,
  );
  const target = { kind: "at most", value: MOST_MB[name] } as const;
  report.figure({ name: `resident memory of ${name}`, unit: "MB", ours: { name, rounds: last }, target });
  const growth = { name, rounds: [median(last) / median(middle)] };
  report.figure({ name: `last minute relative to the one before, ${name}`, unit: "×", ours: growth, target: FLAT });
}
