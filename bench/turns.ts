import { once } from "node:events";
import { Worker } from "node:worker_threads";

import type { Sending } from "../test/turns/sender.ts";
import { gzipped, worstBytes, worstJson } from "../test/turns/shapes.ts";
import type { WorstRequest } from "../test/turns/shapes.ts";
import { quantile } from "./frame.ts";
import type { Benchmark } from "./frame.ts";
import { API_KEY, formOf, postRequest } from "./support/events.ts";
import type { Generator, Job } from "./support/load.ts";
import { ACCOUNT, clearStorage, startService } from "./support/storage.ts";

const P99_MS = 150;
const HIGHEST_MS = 1_000;
/** Posts of the victim a second. */
const PER_SECOND = 50;
/** Largest size that a batch and most protocols take, and sizes below it. */
const SIZES_BYTES = [60_000, 5_000_000, 60_000_000] as const;
/** Another person's log, whose producer is delayed by nobody else's posts. */
const VICTIM = { log: "victim", email: "victim@localhost" } as const;

export const benchmark: Benchmark = {
  name: "turns",
  about: "p99 and highest of a post every 20 ms beside the worst requests of another tenant | the same without them",
  isOptIn: true,
  async run({ world, report, quick }) {
    const generator = await world.generator();
    const storage = await world.storage();
    try {
      await using service = await startService(storage);
      const key = await makeVictim(service.apiPort);
      const victim = (duration_ms: number): Promise<Victim> => post(generator, service.postPort, key, duration_ms);
      await victim(2_000);
      const alone = await victim(quick ? 2_000 : 10_000);
      using attacker = new Attacker(service.postPort);
      const attacked: Victim[] = [];
      for (const size_bytes of quick ? SIZES_BYTES.slice(0, 1) : SIZES_BYTES) {
        attacked.push(await beside(attacker.run(size_bytes), () => victim(2_000)));
      }
      const worst = (of: keyof Victim) => ({ name: "attacked", rounds: attacked.map((each) => each[of]) });
      const figures = [
        ["p99_ms", "p99 of a post", P99_MS],
        ["highest_ms", "highest of a post", HIGHEST_MS],
      ] as const;
      for (const [of, name, value] of figures) {
        report.figure({ name: `${name}, alone`, unit: "ms", ours: { name: "alone", rounds: [alone[of]] } });
        const target = { kind: "at most", value } as const;
        const rounds = [Math.max(...worst(of).rounds)];
        report.figure({ name: `${name}, attacked`, unit: "ms", ours: { name: "attacked", rounds }, target });
      }
      report.line(`  ${attacker.sent} requests of ${SIZES_BYTES.map((size) => `${size / 1e6} MB`).join(", ")}`);
    } finally {
      await clearStorage(storage);
    }
  },
};

type Victim = { readonly p99_ms: number; readonly highest_ms: number };

/** Posts at a fixed rate, and returns how long the answers took. */
async function post(generator: Generator, port: number, key: string, duration_ms: number): Promise<Victim> {
  const requests = Array.from({ length: 100 }, (_, i) => postRequest(`/1/logs/${VICTIM.log}/events`, formOf(i, key)));
  const job: Job = {
    host: "127.0.0.1",
    port,
    connections: 4,
    requests,
    perSecond: PER_SECOND,
    duration_ms,
    expect: 201,
  };
  const { latencies_ms } = await generator.run(job);
  return { p99_ms: quantile(latencies_ms, 0.99), highest_ms: quantile(latencies_ms, 1) };
}

/** Repeats rounds of the victim while work is under way, and returns the worst of them. */
async function beside(work: Promise<void>, round: () => Promise<Victim>): Promise<Victim> {
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  let worst: Victim = { p99_ms: 0, highest_ms: 0 };
  while (!over.signal.aborted) {
    const { p99_ms, highest_ms } = await round();
    worst = { p99_ms: Math.max(worst.p99_ms, p99_ms), highest_ms: Math.max(worst.highest_ms, highest_ms) };
  }
  await done;
  return worst;
}

/** Sends the worst requests one after the other, with the key of the first log. */
class Attacker {
  sent = 0;
  readonly #port: number;
  readonly #worker = new Worker(new URL("../test/turns/sender.ts", import.meta.url));

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends every tenth request of about a size, plain and compressed. */
  async run(size_bytes: number): Promise<void> {
    let n = 0;
    const every = size_bytes > 1_000_000 ? 97 : 29;
    const isChosen = (): boolean => n++ % every === 0;
    for (const requests of [worstBytes(size_bytes, isChosen), worstJson(size_bytes, isChosen)]) {
      for (const request of requests) {
        await this.#send(request);
        await this.#send(gzipped(request));
      }
    }
  }

  async #send(request: WorstRequest): Promise<void> {
    const sending: Sending = { to: "http", port: this.#port, key: API_KEY, request };
    this.#worker.postMessage(sending, []);
    await once(this.#worker, "message");
    this.sent += 1;
  }

  [Symbol.dispose](): void {
    void this.#worker.terminate();
  }
}

/** Creates an account with a log of its own. Returns a key of the log. */
async function makeVictim(port: number): Promise<string> {
  const call = async (path: string, email: string, fields: object | URLSearchParams): Promise<{ key?: string }> => {
    const isForm = fields instanceof URLSearchParams;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: {
        Authorization: `Basic ${Buffer.from(`${email}:${ACCOUNT.password}`).toString("base64")}`,
        ...(!isForm && { "Content-Type": "application/json" }),
      },
      body: isForm ? fields : JSON.stringify(fields),
    });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { key?: string };
  };
  await call("/manage/1/accounts", ACCOUNT.email, { email: VICTIM.email, password: ACCOUNT.password });
  await call("/1/logs", VICTIM.email, new URLSearchParams({ key: VICTIM.log, display: VICTIM.log }));
  return (await call(`/manage/1/logs/${VICTIM.log}/apiKeys`, VICTIM.email, { scope: "write-only" })).key!;
}
