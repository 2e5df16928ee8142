import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import test from "ava";
import type { ExecutionContext } from "ava";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { LAUNCHER } from "../chaos/program.ts";
import { KINDS } from "../support/engine-kinds.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import { open } from "./raw.ts";

/** Starts the service with this many descriptors. */
function start(t: ExecutionContext, kind: "embedded" | "cluster", descriptors: number) {
  const child = spawn("sh", ["-c", `ulimit -n ${descriptors} && exec "$0" "$@"`, process.execPath, LAUNCHER, "start"], {
    env: {
      ...process.env,
      ...environmentOf(kind, temporaryFolder(t)),
      LOGGIA_LOG_LEVEL: "info",
      LOGGIA_OPS: "127.0.0.1:0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  killAfterExit(child);
  const seen = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (seen.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (seen.err += chunk.toString()));
  // Not before all of its output was read.
  const exit = once(child, "close") as Promise<[number | null, string | null]>;
  t.teardown(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  return { child, seen, exit };
}

type Ports = { readonly api: number; readonly post: number; readonly ops: number };

async function portsOf({ child, seen }: ReturnType<typeof start>): Promise<Ports> {
  const read = () => /API +\S+:(\d+)[^]*posting +\S+:(\d+)[^]*health +[^\n]+:(\d+)\//.exec(seen.out);
  await until(() => Promise.resolve(read() !== null || child.exitCode !== null), {
    what: "the addresses",
    timeout_ms: 90_000,
  });
  const [, api, post, ops] = read() ?? [];
  if (ops === undefined) throw new Error(`it did not start:\n${seen.err}`);
  return { api: Number(api), post: Number(post), ops: Number(ops) };
}

/** Opens connections that send nothing or half a request. */
async function crowd(t: ExecutionContext, port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()));
  while (sockets.length < count) {
    const opened = await Promise.all(Array.from({ length: Math.min(100, count - sockets.length) }, () => open(port)));
    for (const [i, socket] of opened.entries()) {
      socket.resume();
      if (i % 4 === 0) socket.write("GET / HTTP/1.1\r\nHo");
    }
    sockets.push(...opened);
  }
  return sockets;
}

/** Asserts that all listeners answer, each request on a new connection. */
async function assertServed(t: ExecutionContext, { api, post, ops }: Ports): Promise<string> {
  const headers = { Connection: "close" };
  const body = `apikey=${KEY}&text=hello`;
  for (let i = 0; i < 10; i++) {
    const posted = await fetch(`http://127.0.0.1:${post}/1/logs/${LOG}/events`, { method: "POST", body, headers });
    t.is(posted.status, 201);
    const listed = await fetch(`http://127.0.0.1:${api}/1/logs`, {
      headers: { ...headers, Authorization: AUTHORIZATION },
    });
    t.is(listed.status, 200);
  }
  const metrics = await fetch(`http://127.0.0.1:${ops}/metrics`, { headers });
  t.is(metrics.status, 200);
  return await metrics.text();
}

for (const kind of KINDS) {
  for (const descriptors of [2_048, 256]) {
    test.serial(
      `${kind}: idle connections to all listeners beyond ${descriptors} descriptors keep nobody out`,
      async (t) => {
        t.timeout(180_000);
        const service = start(t, kind, descriptors);
        const ports = await portsOf(service);
        const { child, seen } = service;
        const logged = (line: string) => until(() => new RegExp(line).test(seen.err), { what: line });
        await logged(`"openFiles":${descriptors},.*connections are limited to what ulimit -n allows`);
        for (const port of [ports.post, ports.api, ports.ops]) {
          const idle = await crowd(t, port, port === ports.ops ? 200 : descriptors + 52);
          await assertServed(t, ports);
          // As many stay connected as fit: not all of them are reset. Later they may be, for their
          // silence.
          if (port !== ports.ops) t.true(idle.filter((socket) => !socket.closed).length > descriptors / 4);
          const used = readdirSync(`/proc/${child.pid}/fd`).length;
          t.true(used < descriptors - 16, `${used} descriptors are in use`);
        }
        const metrics = await assertServed(t, ports);
        const cut = /^loggia_connections_cut_total\{reason="crowd"\} (\d+)$/m.exec(metrics)?.[1];
        t.true(Number(cut) > descriptors / 2, `${cut} were cut`);
        for (const name of ["posting", "the API", "monitoring"])
          await logged(`"reason":"crowd".*"msg":"${name} has reached its connection limit`);
        t.is(child.exitCode, null);
      },
    );
  }
}

test.serial("too few descriptors stop startup with one line", async (t) => {
  for (const descriptors of [64, 128, 255]) {
    const { seen, exit } = start(t, "embedded", descriptors);
    t.deepEqual(await exit, [1, null]);
    const [line = "", ...more] = seen.err
      .split("\n")
      .filter((said) => said !== "" && !said.includes('"msg":"Starting"'));
    t.deepEqual(more, [], seen.err);
    t.regex(line, new RegExp(`ulimit -n allows ${descriptors} open files`));
    t.false(line.includes("stack"));
    t.is(seen.out, "");
  }
});
