import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { runAfterExit } from "../../../infra/engines/guard.ts";
import { until } from "../../support/until.ts";
import type { Chaos, Fault, Figures } from "../chaos.ts";
import { deadLetters } from "../dead-letters.ts";
import { untilReadiness } from "../health.ts";
import type { Load } from "../load.ts";
import { send } from "../http.ts";
import {
  answerFigures,
  assertAnswers,
  BACK_LIMIT_MS,
  measureRecovery_ms,
  keptFigures,
  seconds,
  settledOffsets,
} from "../measure.ts";
import { openScene, type Scene } from "../scene.ts";

const run = promisify(execFile);

export const diskEmbedded: Fault = {
  name: "disk-embedded",
  passes:
    "the disk of the embedded files fills up: no 201 for what is not stored, an error that says so, " +
    "goes on when there is room",
  cluster: false,
  async run(chaos) {
    const folder = join(chaos.folder, "small");
    mkdirSync(folder);
    const mounted = await mountSmallDisk(folder, chaos);
    return mounted ? fillDisk(chaos, folder) : fillAllowance(chaos);
  },
};

/** Mounts a small disk; false if this user may not mount. */
async function mountSmallDisk(folder: string, chaos: Chaos): Promise<boolean> {
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder]);
  } catch (error) {
    chaos.say(`no small disk can be mounted here (${(error as Error).message.trim()}); files may not grow instead`);
    return false;
  }
  chaos.stack.use(runAfterExit("umount", ["-l", folder]));
  chaos.stack.defer(async () => {
    // Lazily, because a process that was just killed may hold a file for a moment.
    await run("umount", ["-l", folder]);
  });
  return true;
}

/** Fills a disk with another file until that is deleted. */
async function fillDisk(chaos: Chaos, folder: string): Promise<Figures> {
  const scene = await openScene(chaos, { kind: "embedded", data: join(folder, "data") });
  const ballast = join(folder, "ballast");
  const figures = await starve(chaos, scene, {
    start: () => fill(ballast),
    end: () => rmSync(ballast),
  });
  return { way: "tmpfs of 64 MB", ...figures };
}

/** Simulates a full disk without a mount: no file may grow beyond the largest present one. */
async function fillAllowance(chaos: Chaos): Promise<Figures> {
  const scene = await openScene(chaos, { kind: "embedded" });
  const { pid } = scene.program("all");
  const largest = () => Math.max(...readdirSync(scene.data).map((name) => statSync(join(scene.data, name)).size));
  const figures = await starve(chaos, scene, {
    start: () => run("prlimit", ["--pid", String(pid), `--fsize=${largest()}:`]),
    end: () => run("prlimit", ["--pid", String(pid), "--fsize=unlimited:"]),
  });
  return { way: "a limit on the size of files (no tmpfs could be mounted)", ...figures };
}

type Starvation = { readonly start: () => unknown; readonly end: () => unknown };

async function starve(chaos: Chaos, scene: Scene, { start, end }: Starvation): Promise<Figures> {
  const rounds = chaos.full ? 5 : 1;
  const load = scene.load({ producers: 16, rate: 400 });
  const program = scene.program("all");
  const {
    readers: [reader],
    postUrls: [postUrl],
  } = scene;
  const back_ms: number[] = [];
  let message = "";
  for (let round = 0; round < rounds; round++) {
    await measureRecovery_ms(load.nextAccepted(), "a start");
    await start();
    const before = load.failures.get(503) ?? 0;
    await until(() => (load.failures.get(503) ?? 0) > before + 20, { what: "503s on a full disk" });
    await sleep(chaos.full ? 5_000 : 1_000);
    // A busy machine may let a post time out meanwhile, which has another reason.
    await until(() => /disk is full|disk failed/.test((message = messageOf(load))), {
      what: "an error that says so",
    }).catch(() => assert.fail(`the error that a producer gets: ${message}`));
    assert.ok(program.isRunning, `the process ended:\n${program.tail()}`);
    await untilReadiness(postUrl!, 503, ["bus"]);
    await untilReadiness(reader.url, 200, ["bus"]);
    await askToReadAndSignIn(reader);
    await end();
    back_ms.push(await measureRecovery_ms(load.nextAccepted(), "there was room again"));
    await scene.fresh();
    for (const url of [postUrl!, reader.url]) await untilReadiness(url, 200, []);
  }
  await load.stop();
  assertAnswers(load, { unanswered: false });
  const verdict = await scene.settle();
  // Files written on a full disk must be readable too.
  await program.terminate();
  await program.start();
  await scene.settle();
  return {
    "times full": rounds,
    ...keptFigures(verdict),
    ...answerFigures(load),
    said: message,
    "back after": seconds(Math.max(...back_ms)),
  };
}

/** Asserts that lists, queries and signing in work without free space. */
async function askToReadAndSignIn({ url, authorization }: Scene["readers"][0]): Promise<void> {
  const headers = { Authorization: authorization };
  for (const path of ["events?pagesize=1", "query?query=GET+events+GROUPBY+source", "export?format=csv"]) {
    const { status, text } = await send({ url: `${url}/1/logs/first/${path}`, headers });
    assert.equal(status, 200, `${path} on a full disk: ${text.slice(0, 500)}`);
  }
  const [email, password] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
  const body = JSON.stringify({ email, password });
  const type = { "Content-Type": "application/json" };
  const { status, text } = await send({ url: `${url}/1/session`, method: "POST", headers: type, body });
  assert.equal(status, 201, `signing in on a full disk: ${text}`);
}

function messageOf({ lastMessage }: Load): string {
  return (JSON.parse(lastMessage) as { error: { message: string } }).error.message;
}

/** Writes until the disk is full. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
      const bytes = Buffer.alloc(size);
      while (fits(descriptor, bytes));
    }
  } finally {
    closeSync(descriptor);
  }
}

function fits(descriptor: number, bytes: Buffer): boolean {
  try {
    return writeSync(descriptor, bytes) === bytes.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    return false;
  }
}

export const diskElasticsearch: Fault = {
  name: "disk-elasticsearch",
  passes:
    "Elasticsearch at its flood stage takes no writes: posts are kept on the bus, lists are answered, " +
    "writes fail with the reason, and it continues once there is space",
  cluster: true,
  async run(chaos) {
    const scene = await openScene(chaos, { kind: "cluster" });
    const url = `http://${(await chaos.engines.elasticsearch()).address}`;
    const flood = chaos.full ? setFloodStage : setBlock;
    const block = (flooded: boolean) => flood(url, scene, flooded);
    chaos.stack.defer(() => block(false));
    const load = scene.load({ producers: 16, rate: chaos.full ? 1_000 : 300 });
    await measureRecovery_ms(load.nextAccepted(), "the start");
    await block(true);
    const covered = await settledOffsets(scene);
    await sleep(chaos.full ? 20_000 : 2_000);
    assert.deepEqual(await scene.covered(), covered, "offsets moved although nothing may be written");
    const lag = await scene.lag();
    const said = await askForWrite(scene);
    await block(false);
    const start_ms = performance.now();
    await until(async () => (await scene.lag()) < lag, { what: "the drain to go on", timeout_ms: BACK_LIMIT_MS });
    const back_ms = performance.now() - start_ms;
    await load.stop();
    assert.deepEqual([...load.failures], [], "posts need no Elasticsearch");
    const verdict = await scene.settle();
    assert.deepEqual(await deadLetters(scene), []);
    return {
      ...keptFigures(verdict),
      "dead letters": 0,
      "most records behind": lag,
      said,
      "went on after": seconds(back_ms),
    };
  },
};

/**
 * Asserts that reads work without free space, and that a write and the log report the reason.
 * @returns the error message of the write
 */
async function askForWrite({ readers: [{ url, authorization }], programs }: Scene): Promise<string> {
  const headers = { Authorization: authorization, "Content-Type": "application/json" };
  const list = await send({ url: `${url}/1/logs/first/events?pagesize=1`, headers });
  assert.equal(list.status, 200, `a list on a full disk: ${list.text}`);
  const filter = { key: "late", display: "Late", color: "blue", tag: "late", weight: 1 };
  const body = JSON.stringify(filter);
  const write = await send({ url: `${url}/manage/1/logs/first/classFilters`, method: "POST", headers, body });
  assert.equal(write.status, 503, `a write on a full disk: ${write.text}`);
  const { message } = (JSON.parse(write.text) as { error: { message: string } }).error;
  assert.match(message, /flood|read-only/);
  for (const program of programs.values()) assert.match(program.log(), /flood|read-only/);
  return message;
}

async function put(url: string, body: object): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const { status, text } = await send({ url, method: "PUT", headers, body: JSON.stringify(body) });
  if (status !== 200) throw new Error(`PUT ${url} was answered ${status}: ${text}`);
}

/**
 * Sets the block that Elasticsearch puts on every index of a node whose disk passes the flood
 * stage.
 */
async function setBlock(url: string, { namespace }: Scene, blocked: boolean): Promise<void> {
  await put(`${url}/${namespace}-*/_settings`, { "index.blocks.read_only_allow_delete": blocked ? true : null });
}

/**
 * Makes Elasticsearch consider its disk full, or empty again, and waits until it has noticed; it
 * checks every 10 s.
 */
async function setFloodStage(url: string, { namespace }: Scene, flooded: boolean): Promise<void> {
  const persistent = flooded
    ? {
        "cluster.info.update.interval": "10s",
        "cluster.routing.allocation.disk.threshold_enabled": true,
        "cluster.routing.allocation.disk.watermark.low": "0.01%",
        "cluster.routing.allocation.disk.watermark.high": "0.02%",
        "cluster.routing.allocation.disk.watermark.flood_stage": "0.03%",
      }
    : { "cluster.routing.allocation.disk.*": null, "cluster.info.update.interval": null };
  await put(`${url}/_cluster/settings`, { persistent });
  const isBlocked = async (): Promise<boolean> => {
    const { text } = await send({ url: `${url}/${namespace}-*/_settings/index.blocks.*?flat_settings=true` });
    const settings = Object.values(JSON.parse(text) as Record<string, { settings: Record<string, string> }>);
    return settings.some((each) => each.settings["index.blocks.read_only_allow_delete"] === "true");
  };
  await until(async () => (await isBlocked()) === flooded, {
    what: flooded ? "the flood stage" : "the end of the flood stage",
    timeout_ms: 60_000,
    interval_ms: 200,
  });
}
