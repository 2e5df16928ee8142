import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../support/until.ts";
import { PRETENCES, startAnsweringProxy } from "../answering-proxy.ts";
import type { Fault } from "../chaos.ts";
import { LAUNCHER } from "../program.ts";
import { readAll } from "../oracle.ts";
import { openScene, type Scene } from "../scene.ts";

const LINE = "line ";
const WAIT = { timeout_ms: 120_000 } as const;

export const proxy: Fault = {
  name: "proxy",
  passes:
    "a proxy between a shipper and the service answers 301, 404, 413, a page of HTML with 200, and not at all, in turn: each line is stored once",
  cluster: false,
  async run(chaos) {
    const { rounds, lines } = chaos.full ? { rounds: 4, lines: 2_000 } : { rounds: 1, lines: 300 };
    const scene = await openScene(chaos, { kind: "embedded", logs: 1 });
    const between = chaos.stack.use(await startAnsweringProxy(scene.postUrls[0]!));
    const file = join(chaos.folder, "app.log");
    writeFileSync(file, "");
    const shipper = startShipper(scene, between.url, file, join(chaos.folder, "state"));
    chaos.stack.defer(() => void shipper.child.kill("SIGKILL"));
    let written = 0;
    const write = (): void => {
      const numbers = Array.from({ length: lines }, () => written++);
      appendFileSync(file, numbers.map((n) => `${LINE}${n}\n`).join(""));
    };
    for (let round = 1; round <= rounds; round++) {
      for (const pretence of PRETENCES) {
        const due = (between.struck.get(pretence) ?? 0) + 2;
        between.set(pretence);
        write();
        // The shipper repeats a post that is not answered after half a minute: here it is cut off.
        const least = pretence === "silence" ? due - 1 : due;
        await until(() => (between.struck.get(pretence) ?? 0) >= least, {
          what: `posts that meet ${pretence}`,
          ...WAIT,
        });
        const passed = between.passed();
        between.set(null);
        write();
        await until(() => between.passed() > passed, { what: `a post that passes after ${pretence}`, ...WAIT });
      }
    }
    const stored = await until(
      async () => {
        const numbers = await numbersIn(scene);
        return numbers.length >= written ? numbers : null;
      },
      { what: `${written} lines`, interval_ms: 500, ...WAIT },
    );
    shipper.child.kill("SIGTERM");
    const [code] = (await once(shipper.child, "close")) as [number | null];
    assert.equal(code, 0, shipper.output());
    assert.match(shipper.output(), new RegExp(`^posted ${written}, failed 0, `, "m"));
    assert.deepEqual(
      stored.toSorted((a, b) => a - b),
      Array.from({ length: written }, (_, n) => n),
    );
    const struck = [...between.struck.values()].reduce((sum, count) => sum + count, 0);
    return { lines: written, "posts that the proxy answered": struck };
  },
};

type Shipper = { readonly child: ChildProcess; readonly output: () => string };

/** Starts a shipper that follows a file, as an operator does. */
function startShipper({ targets }: Scene, url: string, file: string, state: string): Shipper {
  const { log, apiKey } = targets[0]!;
  const words = ["ship", "--post", url, "--log", log, "--state", state, "--follow", file];
  const env = { PATH: process.env["PATH"], LOGGIA_KEY: apiKey };
  const child = spawn(process.execPath, [LAUNCHER, ...words], { env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return { child, output: () => output };
}

/** Returns the numbers of the lines that the log holds. */
async function numbersIn({ readers, targets }: Scene): Promise<number[]> {
  const { rows } = await readAll(readers[0], `/1/logs/${targets[0]!.log}/events`);
  return rows.flatMap(({ text }) => (text.startsWith(LINE) ? [Number(text.slice(LINE.length))] : []));
}
