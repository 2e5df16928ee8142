import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

import { interleaved, quantile } from "./frame.ts";
import type { Benchmark } from "./frame.ts";
import { LOG } from "./support/events.ts";
import { clearStorage, startService } from "./support/storage.ts";
import { jobOf } from "./post.ts";

const FILTERS = 10_000;
const POSTS_A_SECOND = 500;
const CHANGE_EVERY_MS = 500;
const LIMIT = 2;
const AUTHORIZATION = `Basic ${Buffer.from("bench@localhost:a long password").toString("base64")}`;

function filterOf(i: number, weight: number) {
  const text = `${i} ${"long text ".repeat(20)}`.slice(0, 200);
  return { key: `class-${i}`, display: "", color: "red", tag: "", text, link: "", source: "", weight };
}

/** Adds the filters in one transaction, as another process would. One by one takes minutes. */
function addFilters(file: string): void {
  using database = new DatabaseSync(file, { timeout: 5_000 });
  const insert = database.prepare(
    "INSERT INTO documents (id, version, body) VALUES (?, (SELECT max(version) + 1 FROM documents), ?)",
  );
  database.exec("BEGIN IMMEDIATE");
  for (let i = 0; i < FILTERS; i++) {
    const body = { kind: "class", log: LOG, birth: String(i), filter: filterOf(i, i % 100) };
    insert.run(`class/${LOG}/class-${i}`, JSON.stringify(body));
  }
  database.exec("COMMIT");
}

/** Changes one filter after the other until disposed of. */
function keepChanging(port: number): AsyncDisposable {
  const over = new AbortController();
  const changing = (async () => {
    for (let i = 0; !over.signal.aborted; i++) {
      const { key, ...fields } = filterOf(i % FILTERS, 1_000 + i);
      const response = await fetch(`http://127.0.0.1:${port}/manage/1/logs/${LOG}/classFilters/${key}`, {
        method: "PUT",
        headers: { Authorization: AUTHORIZATION, "Content-Type": "application/json" },
        body: JSON.stringify(fields),
      });
      if (!response.ok) throw new Error(`changing a filter failed: ${response.status} ${await response.text()}`);
      await sleep(CHANGE_EVERY_MS, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await changing;
    },
  };
}

export const benchmark: Benchmark = {
  name: "filters",
  kind: "embedded",
  about:
    `p99 of posts to a log with ${FILTERS} class filters, one of which changes every ${CHANGE_EVERY_MS} ms ` +
    "| no changes",
  async run({ world, report, quick }) {
    const storage = await world.storage();
    if (storage.kind !== "embedded") return;
    const generator = await world.generator();
    await using closing = new AsyncDisposableStack();
    closing.defer(() => clearStorage(storage));
    const service = closing.use(await startService(storage));
    addFilters(join(storage.folder, "catalog.sqlite"));
    const p99 = async (): Promise<number> => {
      const { latencies_ms } = await generator.run(jobOf(service.postPort, quick ? 2_000 : 5_000, POSTS_A_SECOND));
      return quantile(latencies_ms, 0.99);
    };
    const whileChanging = async (): Promise<number> => {
      await using _ = keepChanging(service.apiPort);
      return await p99();
    };
    // Builds the first matcher and warms up the code.
    await p99();
    const variants = [
      { name: "no change", once: p99 },
      { name: `a change every ${CHANGE_EVERY_MS} ms`, once: whileChanging },
    ];
    const [limit, ours] = await interleaved(variants, { least: quick ? 1 : 5 });
    const target = { kind: "at most", value: LIMIT } as const;
    report.ratio({ name: "p99 of posts while filters change", unit: "ms", ours: ours!, limit: limit!, target });
  },
};
