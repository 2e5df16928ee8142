import test from "ava";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { StartError } from "../../../src/errors.ts";
import { reportEvictions } from "../../../src/http/limits/eviction-report.ts";
import { readOpenFilesLimit, shareDescriptors } from "../../../src/http/limits/descriptors.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const WANTED = { api: 10_000, post: 10_000, monitoring: 100 };

function share(openFiles: number) {
  const lines: { object: unknown; message: string }[] = [];
  const limits = shareDescriptors(
    WANTED,
    { warn: (object: unknown, message?: string) => void lines.push({ object, message: message ?? "" }) },
    openFiles,
  );
  const { api, post, monitoring } = limits;
  return { connections: [api.connections, post.connections, monitoring.connections], limits, lines };
}

test("with enough descriptors each listener has all its connections, and nothing is logged", (t) => {
  for (const openFiles of [Number.POSITIVE_INFINITY, 1_048_576, 20_356]) {
    const { connections, lines } = share(openFiles);
    t.deepEqual(connections, [10_000, 10_000, 100]);
    t.deepEqual(lines, []);
  }
});

test("with fewer descriptors the listeners share them, files keep a reserve, and a warning is logged", (t) => {
  for (const openFiles of [256, 257, 1_024, 2_048, 20_355]) {
    const { connections, limits, lines } = share(openFiles);
    const [api, post, monitoring] = connections as [number, number, number];
    t.is(api, post);
    t.true(api > 50 && monitoring >= 16 && monitoring <= 100, connections.join(" "));
    t.true(api + post + monitoring <= openFiles - 64, connections.join(" "));
    t.true(limits.post.descriptors < openFiles && limits.post.descriptors > api + post);
    t.is(lines.length, 1);
    t.regex(lines[0]!.message, /ulimit -n .*20356/);
    t.deepEqual(lines[0]!.object, { openFiles, needed: 20_356, connections: { api, post, monitoring } });
  }
});

test("too few descriptors stop startup with a one-line error that says how to raise the limit", (t) => {
  for (const openFiles of [20, 64, 255])
    t.throws(() => share(openFiles), { instanceOf: StartError, message: /^ulimit -n allows \d+ open files.*256.*$/ });
});

test("the limit is read from the system, or else from Node's report", (t) => {
  const file = join(temporaryFolder(t), "limits");
  for (const [line, expected] of [
    ["Max open files            1024                 524288               files", 1_024],
    ["Max open files            unlimited            unlimited            files", Number.POSITIVE_INFINITY],
  ] as const) {
    writeFileSync(file, `Limit   Soft Limit   Hard Limit   Units\n${line}     \n`);
    t.is(readOpenFilesLimit(file), expected);
  }
  const reported = readOpenFilesLimit(join(file, "nothing"));
  t.is(reported, readOpenFilesLimit(), "both say the same");
  t.true(reported > 100);
});

test("all closed connections are counted, and logged once a minute", (t) => {
  let now_ms = 5;
  let counted = 0;
  const lines: unknown[] = [];
  const evicted = reportEvictions(
    "posting",
    { warn: (object: unknown, message?: string) => void lines.push([object, message]) },
    () => (counted += 1),
    () => now_ms,
  );
  for (let i = 0; i < 10; i++) evicted("crowd");
  t.like(lines, [[{ reason: "crowd", closed: 1 }]]);
  evicted("descriptors");
  t.is(lines.length, 2);
  now_ms += 60_000;
  evicted("crowd");
  t.like(lines[2], [{ reason: "crowd", closed: 10 }]);
  t.is(counted, 12);
});
