import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The treatment of posts: pass them, answer in place of the service, or do not answer. */
export const PRETENCES = ["301", "404", "413", "html", "silence"] as const;
export type Pretence = (typeof PRETENCES)[number];

/**
 * A proxy before the posting listener, as while it is reconfigured or its service restarts. Every
 * other post that it answers itself has reached the service before, and all that it leaves silent.
 */
export type AnsweringProxy = AsyncDisposable & {
  readonly url: string;
  /** Sets the treatment from now on; null passes posts. Ends the silence of earlier ones. */
  set(pretence: Pretence | null): void;
  /** Numbers of posts that the service answered, and that the proxy treated in each way. */
  readonly passed: () => number;
  readonly struck: ReadonlyMap<Pretence, number>;
};

const PAGE = "<!doctype html><title>Maintenance</title><h1>We are back soon</h1>";

export async function startAnsweringProxy(upstream: string): Promise<AnsweringProxy> {
  const struck = new Map<Pretence, number>();
  const silent = new Set<ServerResponse>();
  let pretence: Pretence | null = null;
  let passed = 0;

  async function forward({ method = "GET", url = "/", headers }: IncomingMessage, body: Buffer): Promise<Response> {
    const names = ["authorization", "content-type", "content-encoding", "idempotency-key", "x-loggia-created"];
    const given = names.flatMap((name) =>
      headers[name] === undefined ? [] : [[name, String(headers[name])] as const],
    );
    return await fetch(upstream + url, { method, headers: Object.fromEntries(given), body: new Uint8Array(body) });
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const now = pretence;
    if (now === null) {
      const answer = await forward(incoming, body);
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.bytes());
      passed += 1;
      return;
    }
    const count = (struck.get(now) ?? 0) + 1;
    if (now === "silence" || count % 2 === 0) await (await forward(incoming, body)).bytes();
    struck.set(now, count);
    if (now === "silence") silent.add(response);
    else if (now === "301") response.writeHead(301, { Location: "https://127.0.0.1/" }).end(PAGE);
    else response.writeHead(now === "html" ? 200 : Number(now), { "Content-Type": "text/html" }).end(PAGE);
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => void response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    struck,
    passed: () => passed,
    set(next) {
      pretence = next;
      for (const response of silent) response.destroy();
      silent.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
