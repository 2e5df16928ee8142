import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { killAfterExit } from "../../infra/engines/guard.ts";
import { get } from "../support/client.ts";
import type { Contender } from "./contender.ts";

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

/** Starts an empty VictoriaLogs with defaults, except that it accepts old events. */
export async function startVictoriaLogs(program: string): Promise<Contender> {
  const folder = mkdtempSync(join(tmpdir(), "loggia-bench-victoria-logs-"));
  const port = await freePort();
  const child = spawn(
    program,
    [`-httpListenAddr=127.0.0.1:${port}`, `-storageDataPath=${folder}`, "-retentionPeriod=100y", "-loggerLevel=ERROR"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  killAfterExit(child);
  const failed = once(child, "error").then(([error]) => {
    throw new Error(`PEER_VICTORIALOGS: ${program} cannot be started: ${String(error)}`);
  });
  failed.catch(() => {});
  await Promise.race([answers(port), failed]);
  return {
    name: "VictoriaLogs",
    pid: child.pid!,
    folder,
    isOfBus: () => false,
    postPort: port,
    accepts: 200,
    lineOf: ({ created, text, tags, source, user, value }) =>
      JSON.stringify({ _time: new Date(created).toISOString(), _msg: text, tags: tags.join(" "), source, user, value }),
    requestOf: (body) =>
      "POST /insert/jsonline?_stream_fields=source HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
      "Content-Type: application/stream+json\r\n" +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    waitForEvents: (count, timeout_ms) => waitForEvents(port, count, timeout_ms),
    async ask({ victoriaLogs }) {
      const { body } = await get(port, "/select/logsql/query", victoriaLogs);
      return () => body.split("\n").filter((line) => line !== "").length;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function answers(port: number): Promise<void> {
  for (const end_ms = performance.now() + START_TIMEOUT_MS; performance.now() < end_ms; await sleep(POLL_MS)) {
    const isUp = await get(port, "/health", {}).then(
      () => true,
      () => false,
    );
    if (isUp) return;
  }
  throw new Error(`VictoriaLogs did not answer within ${START_TIMEOUT_MS / 1000} s`);
}

async function waitForEvents(port: number, count: number, timeout_ms: number): Promise<void> {
  let found = 0;
  for (const end_ms = performance.now() + timeout_ms; performance.now() < end_ms; await sleep(POLL_MS)) {
    const { body } = await get(port, "/select/logsql/query", { query: "* | stats count() found" });
    found = Number((JSON.parse(body) as { found: string }).found);
    if (found === count) return;
  }
  throw new Error(`VictoriaLogs has ${found} of ${count} events after ${timeout_ms / 1000} s`);
}
