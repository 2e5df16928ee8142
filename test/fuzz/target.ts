import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { freePorts } from "../../infra/engines/ports.ts";
import { Program } from "../chaos/program.ts";
import { until } from "../support/until.ts";
import { AUTHORIZATION, environmentOf, KEY, LOG } from "../support/service.ts";
import { judge } from "./judge.ts";
import type { Answer } from "./judge.ts";

/** The service under test, in a process of its own, so that its death is noticed from outside. */
export type Target = AsyncDisposable & {
  readonly api: { readonly port: number; readonly url: string };
  readonly post: { readonly port: number; readonly url: string };
  /** Port of the OTLP listener by gRPC. */
  readonly grpcPort: number;
  /**
   * Sends a request and checks the response.
   * @throws Fault
   */
  ask(url: string, init?: RequestInit): Promise<Answer>;
  /**
   * Checks the process.
   * @throws Fault if it has died, has logged an unexpected failure, or no longer works
   */
  check(after: string): Promise<void>;
};

/** A failure found by fuzzing; the seed and the input reproduce it. */
export class Fault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Fault";
  }
}

const MOST_MEMORY_MB = 1_500;
const ANSWER_TIMEOUT_MS = 60_000;

export async function startTarget(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), "loggia-fuzz-"));
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", clear);
  const [apiPort = 0, postPort = 0, grpcPort = 0] = await freePorts(3);
  const environment = {
    ...environmentOf("embedded", join(folder, "data")),
    LOGGIA_API: `127.0.0.1:${apiPort}`,
    LOGGIA_POST: `127.0.0.1:${postPort}`,
    LOGGIA_OTLP_GRPC: `127.0.0.1:${grpcPort}`,
    LOGGIA_LOG_LEVEL: "warn",
    // Fuzzing sends wrong credentials too, and must not be limited to refusals.
    LOGGIA_RATE_FAILURES: "1000000",
  };
  const program = await Program.start({ name: "target", folder, environment });
  const api = { port: apiPort, url: `http://127.0.0.1:${apiPort}` };
  const post = { port: postPort, url: `http://127.0.0.1:${postPort}` };
  let posted = 0;
  let read_characters = 0;

  async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
    const answer = await fetch(url, {
      ...init,
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    }).then(
      async (response) => ({ status: response.status, headers: response.headers, text: await response.text() }),
      (error: Error) => {
        throw new Fault(`no answer to ${describe(url, init)}: ${error.message}`, { cause: error });
      },
    );
    const wrong = await judge(answer);
    if (wrong !== null)
      throw new Fault(`${wrong}\n  asked: ${describe(url, init)}\n  answered: ${answer.text.slice(0, 500)}`);
    return answer;
  }

  async function check(after: string): Promise<void> {
    const lost = (what: string): Fault => new Fault(`after ${after}: ${what}\n${program.tail()}`);
    if (!program.isRunning) throw lost("the process has died");
    const log = program.log();
    const news = log.slice(read_characters);
    read_characters = log.length;
    const unforeseen = news
      .split("\n")
      .find((line) => /"level":(60)|unexpected error|could not be (answered|written)/.test(line));
    if (unforeseen !== undefined) throw lost(`the log tells of a fault: ${unforeseen.slice(0, 2_000)}`);
    const text = `still here ${++posted}`;
    const { status, text: body } = await ask(`${post.url}/1/logs/${LOG}/events`, {
      method: "POST",
      body: new URLSearchParams({ apikey: KEY, text }),
    });
    if (status !== 201) throw lost(`a good event was answered ${status}`);
    const { id } = JSON.parse(body) as { id: string };
    const event = `${api.url}/1/logs/${LOG}/events/${id}`;
    await until(async () => (await ask(event, { headers: { Authorization: AUTHORIZATION } })).status === 200, {
      what: `the event posted after ${after}`,
      timeout_ms: 60_000,
    });
    const { rss_mb: memory_mb } = program.usage();
    if (memory_mb > MOST_MEMORY_MB) throw lost(`the process takes ${memory_mb} MB`);
  }

  return {
    api,
    post,
    grpcPort,
    ask,
    check,
    async [Symbol.asyncDispose]() {
      await program[Symbol.asyncDispose]();
      process.off("exit", clear);
      clear();
    },
  };
}

function describe(url: string, { method = "GET", headers, body }: RequestInit): string {
  const sent = body instanceof Uint8Array ? Buffer.from(body).toString("latin1") : String(body ?? "");
  return `${method} ${url.slice(0, 3_000)} ${JSON.stringify(headers ?? {})} ${JSON.stringify(sent.slice(0, 3_000))}`;
}
