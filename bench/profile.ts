/**
 * `node bench/profile.ts post|drain [--embedded] [--quick] [--keep FOLDER]`: a CPU profile of the service's process while it takes posts or drains the
 * bus, on each pair of engines, and the functions in which it spends its time. `--keep` leaves the profiles there, for a browser's developer tools.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { drainBacklog } from "./drain.ts";
import { createReport, show } from "./frame.ts";
import type { Report } from "./frame.ts";
import { jobOf, startPosting } from "./post.ts";
import { appendBacklog, createBacklog, prepareCatalog } from "./support/backlog.ts";
import { clearPlace } from "./support/places.ts";
import type { Kind } from "./support/places.ts";
import { World } from "./support/world.ts";

const TOP = 25;
const PROJECT = resolve(import.meta.dirname, "..");

/** Runs a load on a service started with `flags`, and says what it came to. */
type Load = (world: World, kind: Kind, flags: readonly string[], quick: boolean) => Promise<string>;

const LOADS: Readonly<Record<string, Load>> = {
  async post(world, kind, flags, quick) {
    await using posting = await startPosting(world, kind, flags);
    const generator = await world.generator();
    const { answered, perSecond } = await generator.run(jobOf(posting.port, quick ? 2_000 : 10_000, null));
    await posting.settle(answered);
    return `${show(perSecond, "/s")} posts/s, ${kind}`;
  },
  async drain(world, kind, flags, quick) {
    const place = await world.place(kind);
    try {
      const backlog = createBacklog(quick ? 20_000 : 200_000, await prepareCatalog(place));
      await appendBacklog(place, backlog);
      return `${show(await drainBacklog(place, backlog, 0, flags), "/s")} events/s drained, ${kind}`;
    } finally {
      await clearPlace(place);
    }
  },
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { embedded: { type: "boolean" }, quick: { type: "boolean" }, keep: { type: "string" } },
  });
  const load = LOADS[positionals[0] ?? ""];
  if (load === undefined || positionals.length > 1) {
    console.error(`Name what is to be profiled: ${Object.keys(LOADS).join(" or ")}`);
    return 2;
  }
  const report = createReport(console.log);
  const kinds: Kind[] = values.embedded ? ["embedded"] : ["embedded", "cluster"];
  await using world = new World({ kinds, say: console.log });
  for (const kind of kinds) {
    const folder = world.folder();
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=500"];
    report.line(`\n${await load(world, kind, flags, values.quick ?? false)} (while it was profiled)`);
    const [file] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"));
    if (file === undefined) throw new Error("The service left no profile");
    if (values.keep !== undefined) {
      mkdirSync(values.keep, { recursive: true });
      cpSync(join(folder, file), join(values.keep, `${positionals[0]}-${kind}.cpuprofile`));
    }
    tell(report, JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile);
  }
  return 0;
}

type CpuProfile = {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  /** In microseconds. */
  readonly timeDeltas: readonly number[];
};
type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };

/** Prints shares of the time that the thread was busy, which is why waiting is told apart. */
function tell(report: Report, profile: CpuProfile): void {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const byFunction = new Map<string, number>();
  const byRoom = new Map<string, number>();
  let idle_us = 0;
  let busy_us = 0;
  for (const [i, id] of profile.samples.entries()) {
    const frame = frames.get(id)!;
    const delta_us = profile.timeDeltas[i] ?? 0;
    if (frame.functionName === "(idle)") {
      idle_us += delta_us;
      continue;
    }
    busy_us += delta_us;
    add(byFunction, `${frame.functionName || "(anonymous)"}\t${placeOf(frame)}`, delta_us);
    add(byRoom, roomOf(frame), delta_us);
  }
  const share = (us: number): string => `${((us / busy_us) * 100).toFixed(1)} %`;
  report.line(`  busy ${show(busy_us / 1_000, "ms")} ms, waiting ${show(idle_us / 1_000, "ms")} ms`);
  report.table([["by room", "of busy"], ...largest(byRoom, 12).map(([room, us]) => [room, share(us)])]);
  report.line();
  report.table([
    ["by function, itself", "of busy", ""],
    ...largest(byFunction, TOP).map(([name, us]) => [name.split("\t")[0]!, share(us), name.split("\t")[1]!]),
  ]);
}

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us);
}

function largest(sums: ReadonlyMap<string, number>, count: number): [string, number][] {
  return [...sums].toSorted(([, a], [, b]) => b - a).slice(0, count);
}

function placeOf({ url, lineNumber }: CallFrame): string {
  if (url === "") return "";
  const path = url.replace(`file://${PROJECT}/`, "").replace(/^file:.*\/node_modules\//, "");
  return `${path}:${lineNumber + 1}`;
}

/** A folder of ours, a package, or a part of Node. */
function roomOf(frame: CallFrame): string {
  const place = placeOf(frame);
  if (place === "") return frame.functionName.startsWith("(") ? frame.functionName : "native";
  if (place.startsWith("node:")) return place.split(":").slice(0, 2).join(":").split("/").slice(0, 2).join("/");
  const parts = place.split("/");
  return parts.slice(0, parts[0] === "src" || parts[0]!.startsWith("@") || parts[0] === "pipelines" ? 2 : 1).join("/");
}

process.exitCode = await main();
