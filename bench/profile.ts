/**
 * `node bench/profile.ts post|drain [--embedded] [--quick] [--keep FOLDER]`: records a CPU profile
 * of the service while it takes posts or drains the bus, on each pair of engines, and prints the
 * functions where it spends its time. `--keep` keeps the profiles for a browser's developer tools.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { drainBacklog } from "./drain.ts";
import { createReport, show } from "./frame.ts";
import type { Report } from "./frame.ts";
import { jobOf, startPosting } from "./post.ts";
import { appendBacklog, createBacklog, prepareCatalog } from "./support/backlog.ts";
import { clearStorage } from "./support/storage.ts";
import type { Kind } from "./support/storage.ts";
import { World } from "./support/world.ts";

const TOP = 20;
const TOP_MODULES = 12;
const PROJECT = resolve(import.meta.dirname, "..");

/** Runs a load on a service started with `flags`, and returns a summary. */
type Load = (world: World, flags: readonly string[], quick: boolean) => Promise<string>;

const LOADS: Readonly<Record<string, Load>> = {
  async post(world, flags, quick) {
    await using posting = await startPosting(world, flags);
    const generator = await world.generator();
    const { answered, perSecond } = await generator.run(jobOf(posting.port, quick ? 2_000 : 10_000, null));
    await posting.settle(answered);
    return `${show(perSecond, "/s")} posts/s, ${world.kind}`;
  },
  async drain(world, flags, quick) {
    const storage = await world.storage();
    try {
      const backlog = createBacklog(quick ? 20_000 : 200_000, await prepareCatalog(storage));
      await appendBacklog(storage, backlog);
      const { perSecond } = await drainBacklog(storage, backlog, 0, flags);
      return `${show(perSecond, "/s")} events/s drained, ${world.kind}`;
    } finally {
      await clearStorage(storage);
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
    console.error(`Name the load to profile: ${Object.keys(LOADS).join(" or ")}`);
    return 2;
  }
  const report = createReport(console.log);
  const kinds: Kind[] = values.embedded ? ["embedded"] : ["embedded", "cluster"];
  for (const kind of kinds) {
    await using world = new World(kind, console.log);
    const folder = world.folder();
    const flags = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=500"];
    report.line(`\n${await load(world, flags, values.quick ?? false)} (while profiled)`);
    // One file per thread: `CPU.<when>.<process>.<thread>.<number>.cpuprofile`. The main thread is
    // 0.
    const file = readdirSync(folder).find((name) => /\.0\.\d+\.cpuprofile$/.test(name));
    if (file === undefined) throw new Error("the service wrote no profile");
    if (values.keep !== undefined) {
      mkdirSync(values.keep, { recursive: true });
      cpSync(join(folder, file), join(values.keep, `${positionals[0]}-${kind}.cpuprofile`));
    }
    reportProfile(report, JSON.parse(readFileSync(join(folder, file), "utf8")) as CpuProfile);
  }
  return 0;
}

type CpuProfile = {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
  /** In microseconds. */
  readonly timeDeltas: readonly number[];
};
type Node = { readonly id: number; readonly callFrame: CallFrame; readonly children?: readonly number[] };
type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };

/** Prints shares of the thread's busy time. Waiting and starting up are reported separately. */
function reportProfile(report: Report, profile: CpuProfile): void {
  const stacks = stacksOf(profile.nodes);
  const byFunction = new Map<string, number>();
  const byModule = new Map<string, number>();
  const withCalls = new Map<string, number>();
  const total_us = { waiting: 0, starting: 0, busy: 0 };
  for (const [i, id] of profile.samples.entries()) {
    const stack = stacks.get(id)!;
    const [frame] = stack;
    const us = profile.timeDeltas[i] ?? 0;
    const state = stateOf(stack);
    total_us[state] += us;
    if (state !== "busy") continue;
    add(byFunction, labelOf(frame!), us);
    add(byModule, moduleOf(frame!), us);
    for (const label of new Set(stack.filter(isOurs).map(labelOf))) add(withCalls, label, us);
  }
  const share = (us: number): string => `${((us / total_us.busy) * 100).toFixed(1)} %`;
  const times = Object.entries(total_us).map(([state, us]) => `${state} ${show(us / 1_000, "ms")} ms`);
  report.line(`  ${times.join(", ")}`);
  report.table([
    ["by module", "of busy time"],
    ...largest(byModule, TOP_MODULES).map(([module, us]) => [module, share(us)]),
  ]);
  for (const [title, sums] of [
    ["by function, self time", byFunction],
    ["own functions, total time", withCalls],
  ] as const) {
    report.line();
    report.table([
      [title, "of busy time", ""],
      ...largest(sums, TOP).map(([label, us]) => [label.split("\t")[0]!, share(us), label.split("\t")[1]!]),
    ]);
  }
}

/** Returns the stack of each node, innermost frame first. */
function stacksOf(nodes: readonly Node[]): Map<number, readonly CallFrame[]> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const stacks = new Map<number, readonly CallFrame[]>();
  const visit = (node: Node, below: readonly CallFrame[]): void => {
    const stack = [node.callFrame, ...below];
    stacks.set(node.id, stack);
    for (const child of node.children ?? []) visit(byId.get(child)!, stack);
  };
  visit(nodes[0]!, []);
  return stacks;
}

function stateOf(stack: readonly CallFrame[]): "waiting" | "starting" | "busy" {
  if (stack[0]!.functionName === "(idle)") return "waiting";
  return stack.some(({ url }) => url.startsWith("node:internal/modules/")) ? "starting" : "busy";
}

function isOurs(frame: CallFrame): boolean {
  return /^(src|pipelines)\//.test(placeOf(frame));
}

function labelOf(frame: CallFrame): string {
  return `${frame.functionName || "(anonymous)"}\t${placeOf(frame)}`;
}

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us);
}

function largest(sums: ReadonlyMap<string, number>, count: number): [string, number][] {
  return [...sums].toSorted(([, a], [, b]) => b - a).slice(0, count);
}

function placeOf({ url, lineNumber }: CallFrame): string {
  if (url === "") return "";
  const path = url.replace(`file://${PROJECT}/`, "").replace(/^.*\bnode_modules\//, "");
  return `${path}:${lineNumber + 1}`;
}

/** Returns the folder of the project, the package or the part of Node that a frame belongs to. */
function moduleOf(frame: CallFrame): string {
  const place = placeOf(frame);
  if (place === "") return frame.functionName.startsWith("(") ? frame.functionName : "native";
  if (place.startsWith("node:")) return place.split(":").slice(0, 2).join(":").split("/").slice(0, 2).join("/");
  const parts = place.replace(/:\d+$/, "").split("/");
  return parts.slice(0, parts[0] === "src" || parts[0]!.startsWith("@") || parts[0] === "pipelines" ? 2 : 1).join("/");
}

process.exitCode = await main();
