import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import test, { type ExecutionContext } from "ava";

import { get, LOG, type Service, serviceOf } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { rows, run, shipTo } from "./ship-runs.ts";

type Event = { readonly text: string; readonly [field: string]: unknown };

const ID = "0f".repeat(32);
const UID = "5b0f7f0e-2d3c-4c57-8d8c-6a3d2e9b1c11";

/** What containerd writes: a long line in parts, with a line of the other stream between them. */
const LINES = [
  `2026-11-20T10:00:00.100000001Z stdout P ${"A".repeat(16_384)}`,
  "2026-11-20T10:00:00.200000000Z stderr F panic: no stock",
  "2026-11-20T10:00:00.300000000Z stdout F tail",
  '2026-11-20T10:00:01.000000000Z stdout F {"level":"warn","msg":"retry","ts":1795168800.5,"order":7}',
];

/** Lays out a node's folders as the kubelet does. */
function node(t: ExecutionContext): { readonly pods: string; readonly containers: string } {
  const log = temporaryFolder(t);
  const [pods, containers] = [join(log, "pods"), join(log, "containers")];
  const folder = join(pods, `shop_web-7d4b9c-x2x1p_${UID}`, "till");
  for (const made of [folder, containers]) mkdirSync(made, { recursive: true });
  writeFileSync(join(folder, "0.log"), `${LINES.join("\n")}\n`);
  writeFileSync(join(folder, "0.log.20261120-095900"), "2026-11-20T09:59:00.000000000Z stdout F before\n");
  writeFileSync(join(folder, "0.log.20261120-095800.gz.tmp"), "not finished");
  symlinkSync(join(folder, "0.log"), join(containers, `web-7d4b9c-x2x1p_shop_till-${ID}.log`));
  return { pods, containers };
}

async function eventsOf(service: Service, count: number): Promise<Event[]> {
  await rows(service, count);
  return (await get(service, `/1/logs/${LOG}/events?attributes=true&pagesize=500`)).body as Event[];
}

test("containerd's files give whole lines with time, pod and container, and the fields of JSON", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { pods } = node(t);
  const { out, err, code } = await run(shipTo(service.postUrl, "--kubernetes", pods));
  t.is(err, "");
  t.is(out, "posted 4, failed 0, retried 0\n");
  t.is(code, 0);
  const [before, long, panic, json] = (await eventsOf(service, 4)).toSorted((a, b) =>
    String(a["created"]).localeCompare(String(b["created"])),
  );
  const attributes = {
    "k8s.container.name": "till",
    "k8s.namespace.name": "shop",
    "k8s.pod.name": "web-7d4b9c-x2x1p",
    "k8s.pod.uid": UID,
  };
  const at = (time: string): string => `/Date(${Date.parse(time)})/`;
  t.like(before, { text: "before", source: "till", attributes: { ...attributes, stream: "stdout" } });
  t.like(long, { text: "A".repeat(8_000), tags: ["cut"], created: at("2026-11-20T10:00:00.1Z") });
  t.like(panic, { text: "panic: no stock", source: "till", created: at("2026-11-20T10:00:00.2Z") });
  t.deepEqual(panic?.["attributes"], { ...attributes, stream: "stderr" });
  t.like(json, { text: "retry", tags: ["warn"], source: "till", created: at("2026-11-20T10:00:00.5Z") });
  t.deepEqual(json?.["attributes"], { ...attributes, level: "warn", order: 7, stream: "stdout" });
});

test("the links of Kubernetes' folder of containers are followed where --links-to allows it", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { pods, containers } = node(t);
  const refused = await run(shipTo(service.postUrl, "--kubernetes", containers));
  t.is(refused.out, "posted 0, failed 0, retried 0\n");
  t.regex(refused.err, /is a link to .*0\.log, outside of .*containers; name the folder .* with --links-to/);
  t.is(refused.code, 1);
  const { out } = await run(shipTo(service.postUrl, "--kubernetes", containers, "--links-to", pods));
  t.is(out, "posted 3, failed 0, retried 0\n");
  const panic = (await eventsOf(service, 3)).find(({ text }) => text.startsWith("panic"));
  t.is(panic?.["source"], "till");
  t.deepEqual(panic?.["attributes"], {
    "container.id": ID,
    "k8s.container.name": "till",
    "k8s.namespace.name": "shop",
    "k8s.pod.name": "web-7d4b9c-x2x1p",
    stream: "stderr",
  });
});

test("a file that the kubelet rotates and compresses is followed, each line once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { pods } = node(t);
  const file = join(pods, `shop_web-7d4b9c-x2x1p_${UID}`, "till", "0.log");
  const rotated = `${file}.20261120-100500`;
  const line = (text: string): string => `2026-11-20T10:05:00.000000000Z stdout F ${text}\n`;
  const following = run(shipTo(service.postUrl, "--follow", "--kubernetes", pods), {
    stopWhen: async () => {
      await rows(service, 4);
      appendFileSync(file, line("last"));
      renameSync(file, rotated);
      writeFileSync(file, line("first of the next"));
      await rows(service, 6);
      // As the kubelet does when it rotates again.
      writeFileSync(`${rotated}.tmp`, gzipSync(readFileSync(rotated)));
      renameSync(`${rotated}.tmp`, `${rotated}.gz`);
      rmSync(rotated);
      appendFileSync(file, line("end"));
      await rows(service, 7);
    },
  });
  const { out, err } = await following;
  t.deepEqual([out, err], ["posted 7, failed 0, retried 0\n", ""]);
  const again = await run(shipTo(service.postUrl, "--kubernetes", pods));
  // Without the positions of the other run all is read anew, once: the archive and the new file.
  t.is(again.out, "posted 7, failed 0, retried 0\n");
});

test("containerd's lines are read from standard input, too", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { out, err } = await run(shipTo(service.postUrl, "--format", "cri"), { input: `${LINES.join("\n")}\n` });
  t.is(err, "");
  t.is(out, "posted 3, failed 0, retried 0\n");
  const events = await eventsOf(service, 3);
  t.deepEqual(
    events.map(({ text }) => text.slice(0, 5)),
    ["AAAAA", "panic", '{"lev'],
  );
  t.deepEqual(events[1]?.["attributes"], { stream: "stderr" });
  const both = await run(shipTo(service.postUrl, "--format", "cri", "--docker"));
  t.is(both.err, "loggia: --docker excludes --kubernetes and --format cri\n");
});
