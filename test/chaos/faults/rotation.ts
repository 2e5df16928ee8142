import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RotatingLog, SCHEMES } from "../../support/rotating-log.ts";
import { until } from "../../support/until.ts";
import { between, type Chaos, type Fault } from "../chaos.ts";
import { send } from "../http.ts";
import { LAUNCHER } from "../program.ts";
import { openScene, type Scene } from "../scene.ts";

/** What the shipper is given, in turn: the log itself, a glob that matches it, its folder. */
const WORDS = ["app.log", "*.log", ""] as const;
const PREFIX = "rotated";
const TICK_MS = 20;
/** Most rotations at once, faster than any reader looks. */
const MOST_ROTATIONS = 3;

export const rotation: Fault = {
  name: "rotation",
  passes:
    "logs are rotated in eight naming schemes at random moments, and the shipper that follows them is killed: each line is stored once",
  cluster: false,
  async run(chaos) {
    const lines = chaos.full ? 10_000 : 1_200;
    const kills = chaos.full ? 12 : 2;
    const scene = await openScene(chaos, { kind: "embedded", logs: 1 });
    const logs = SCHEMES.map((scheme, i) => makeLog(chaos, scheme, WORDS[i % WORDS.length]!));
    const shipper = new Shipper(
      chaos,
      scene,
      logs.map(({ word }) => word),
    );
    chaos.stack.defer(() => shipper.stop("SIGKILL"));
    // Generations that exist before the first run are not read where the file is named.
    for (const log of logs) log.write();
    shipper.start();
    await untilStored(scene, logs.length);
    const killsAt = Array.from({ length: kills }, () => between(0, lines)).toSorted((a, b) => a - b);
    let written = logs.length;
    for (; written < lines; written += logs.length) {
      for (const log of logs) log.turn();
      if (written >= (killsAt[0] ?? Infinity)) {
        killsAt.shift();
        await shipper.stop("SIGKILL");
        // What happens meanwhile, the next run finds.
        for (const log of logs) log.turn();
        written += logs.length;
        shipper.start();
      }
      await sleep(TICK_MS);
    }
    // Missing lines are reported below.
    await untilStored(scene, written).catch(() => {});
    await shipper.stop("SIGTERM");
    await scene.fresh();
    const stored = await storedLines(scene);
    assertOnce(stored, new Set(logs.flatMap((log) => log.lines())));
    const rotations = logs.reduce((sum, log) => sum + log.rotations, 0);
    return { lines: stored.length, schemes: logs.length, rotations, kills, "lost, double": 0 };
  },
};

function assertOnce(stored: readonly string[], due: ReadonlySet<string>): void {
  const seen = new Set(stored);
  const missing = [...due].filter((line) => !seen.has(line));
  const counted = Map.groupBy(stored, (line) => line);
  const wrong = [...counted].filter(([line, times]) => times.length > 1 || !due.has(line)).map(([line]) => line);
  const parts = [missing, wrong].map((lines) => `${lines.length}: ${lines.slice(0, 20).join(", ")}`);
  const message = `${SCHEMES.length} schemes, ${due.size} lines; missing ${parts[0]}; stored twice or not written ${parts[1]}`;
  assert.ok(missing.length === 0 && wrong.length === 0, message);
}

/** A log that is written to and rotated at random. */
function makeLog({ folder }: Chaos, scheme: (typeof SCHEMES)[number], word: string) {
  const name = scheme.replaceAll(/\W+/g, "-");
  const path = join(folder, "rotated", name);
  mkdirSync(path, { recursive: true });
  const log = new RotatingLog(path, scheme);
  let count = 0;
  const lineAt = (n: number): string => `${PREFIX} ${name} ${n}`;
  const made = {
    rotations: 0,
    word: join(path, word),
    write: (): void => log.write(`${lineAt(count++)}\n`),
    /** Writes a line, and rotates before it once in a while, then perhaps several times. */
    turn: (): void => {
      if (Math.random() < 0.05) {
        for (let i = Math.ceil(between(0, MOST_ROTATIONS)); i > 0; i -= 1) {
          log.rotate();
          made.rotations += 1;
        }
      }
      made.write();
    },
    lines: (): string[] => Array.from({ length: count }, (_, n) => lineAt(n)),
  };
  return made;
}

/** The command as an operator runs it. */
class Shipper {
  readonly #words: readonly string[];
  readonly #environment: NodeJS.ProcessEnv;
  #child: ChildProcess | null = null;

  constructor({ folder }: Chaos, { postUrls, targets }: Scene, files: readonly string[]) {
    const { log, apiKey } = targets[0]!;
    const state = join(folder, "positions");
    this.#words = [LAUNCHER, "ship", "--post", postUrls[0]!, "--log", log, "--state", state, "--follow", ...files];
    this.#environment = { PATH: process.env["PATH"], LOGGIA_KEY: apiKey };
  }

  start(): void {
    this.#child = spawn(process.execPath, this.#words, { env: this.#environment, stdio: "ignore" });
  }

  async stop(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}

async function untilStored(scene: Scene, count: number): Promise<void> {
  await until(async () => (await storedLines(scene)).length >= count, {
    what: `${count} lines to be stored`,
    timeout_ms: 120_000,
    interval_ms: 500,
  });
}

async function storedLines({ readers, targets }: Scene): Promise<string[]> {
  const { url, authorization } = readers[0];
  const { text, status } = await send({
    url: `${url}/1/logs/${targets[0]!.log}/export`,
    headers: { Authorization: authorization },
  });
  assert.equal(status, 200, text);
  const rows = text.split("\n").filter((row) => row !== "");
  return rows.map((row) => (JSON.parse(row) as { text: string }).text).filter((line) => line.startsWith(PREFIX));
}
