import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import test from "ava";

import { ship } from "../../src/cli/ship.ts";
import { temporaryFolder } from "../support/temporary.ts";

const LINES = 300_000;
/**
 * Largest allowed ratio of the processor time of reading, batching, compressing, keeping positions
 * and sending to that of reading the lines alone.
 */
const MOST_TIMES = 20;
const MOST_ATTEMPTS = 5;

/** A service in a process of its own that accepts everything. */
const SINK = `
  import { createServer } from "node:http";
  import { gunzipSync } from "node:zlib";
  createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk)).on("end", () => {
      const count = gunzipSync(Buffer.concat(chunks)).toString("latin1").split("\\n").length;
      response.writeHead(201).end(JSON.stringify({ accepted: count, items: Array.from({ length: count }, () => ({ id: "x" })) }));
    });
  }).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
`;

test("shipping a file takes a small multiple of the processor time of reading its lines", async (t) => {
  t.timeout(900_000);
  const folder = temporaryFolder(t);
  const file = join(folder, "a.log");
  const lines = Array.from(
    { length: LINES },
    (_, n) => `2026-11-26T02:00:00Z INFO GET /items/${n * 7} took ${n % 977} ms\n`,
  );
  writeFileSync(file, lines.join(""));
  const sink = spawn(process.execPath, ["--input-type=module", "-e", SINK], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => sink.kill());
  const port = await new Promise<string>((resolve) =>
    sink.stdout.once("data", (text: Buffer) => resolve(text.toString().trim())),
  );

  const read = (): Promise<number> =>
    processorTime(async () => {
      let count = 0;
      for await (const _ of createInterface({ input: createReadStream(file) })) count += 1;
      t.is(count, LINES);
    });
  const shipAll = (state: string): Promise<number> =>
    processorTime(async () => {
      const options = {
        log: "a",
        key: "k",
        inFlight: 1,
        patience_s: 600,
        cut: 500,
        data: 5_000,
        follow: false,
      } as const;
      const terminal = { stderr: new PassThrough(), stdin: new PassThrough() } as unknown as Parameters<typeof ship>[2];
      const places = { post: `127.0.0.1:${port}`, state: join(folder, state) };
      const counts = await ship([file], { ...options, ...places }, terminal, new AbortController().signal);
      t.is(counts.posted, LINES);
    });
  // Compilation and garbage collection may fall into a single attempt.
  let alone = Infinity;
  let shipped = Infinity;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS && !(shipped < alone * MOST_TIMES); attempt += 1) {
    alone = Math.min(alone, await read());
    shipped = Math.min(shipped, await shipAll(`state-${attempt}`));
  }
  t.log(`reading ${alone.toFixed(2)} s, shipping ${shipped.toFixed(2)} s: ${(LINES / shipped).toFixed(0)} lines/s`);
  t.true(shipped < alone * MOST_TIMES, `${(shipped / alone).toFixed(1)} times`);
});

/** Returns the processor time of this process, with all its threads, in seconds. */
async function processorTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
