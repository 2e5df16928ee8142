import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * The treatment of bulk requests: forward them; refuse all with 429 or 503; refuse every other item
 * with 429; or carry them out and truncate the response.
 */
export type Pushback = "none" | "429" | "429-items" | "503" | "truncated";

/**
 * An HTTP proxy before Elasticsearch that answers bulk requests like a failing node, and forwards
 * all other requests.
 */
export type BulkProxy = AsyncDisposable & {
  readonly url: string;
  /**
   * Sets the treatment of bulk requests from now on. Resolves when the earlier ones are answered.
   */
  set(pushback: Pushback): Promise<void>;
  /** Number of bulk requests, or of their items, that were refused or truncated. */
  readonly struck: ReadonlyMap<Pushback, number>;
};

type Answer = { readonly status: number; readonly headers: IncomingMessage["headers"]; readonly body: Buffer };

export async function startBulkProxy(upstream: string): Promise<BulkProxy> {
  const agent = new Agent({ keepAlive: true });
  const struck = new Map<Pushback, number>();
  const underWay = new Set<Promise<void>>();
  let pushback: Pushback = "none";

  function strike(count: number): void {
    struck.set(pushback, (struck.get(pushback) ?? 0) + count);
  }

  /** Forwards a request with `body` in place of its own. */
  async function forward(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { ...incoming.headers, "content-length": String(body.length), "accept-encoding": "identity" };
    const outgoing = request(upstream + incoming.url, { method: incoming.method ?? "GET", headers, agent }, resolve);
    outgoing.on("error", reject);
    outgoing.end(body);
    const answer = await promise;
    return { status: answer.statusCode ?? 502, headers: answer.headers, body: await readAll(answer) };
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(incoming);
    const isBulk = /^[^?]*\/_bulk(\?|$)/.test(incoming.url ?? "");
    const now = isBulk ? pushback : "none";
    switch (now) {
      case "none":
        return reply(response, await forward(incoming, body));
      case "429":
      case "503":
        strike(1);
        return reply(response, refusal(Number(now)));
      case "429-items": {
        const { passed, refused } = halve(body);
        strike(refused.length);
        const answer = passed.length === 0 ? null : await forward(incoming, Buffer.from(passed.join("")));
        return reply(response, answer === null || answer.status === 200 ? merge(answer, passed, refused) : answer);
      }
      case "truncated": {
        const answer = await forward(incoming, body);
        strike(1);
        response.writeHead(answer.status, { ...answer.headers, "content-length": String(answer.body.length + 50) });
        response.write(answer.body.subarray(0, answer.body.length >> 1), () => response.destroy());
        return;
      }
      default:
        return now satisfies never;
    }
  }

  const server = createServer((incoming, response) => {
    const handled = handle(incoming, response).catch(() => void response.destroy());
    underWay.add(handled);
    void handled.then(() => underWay.delete(handled));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    struck,
    async set(next) {
      pushback = next;
      await Promise.all(underWay);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
      await once(server, "close");
    },
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const PRODUCT = { "x-elastic-product": "Elasticsearch", "content-type": "application/json" };
const FULL = { type: "es_rejected_execution_exception", reason: "rejected execution of coordinating operation" };

function refusal(status: number): Answer {
  const body = Buffer.from(JSON.stringify({ error: { ...FULL, root_cause: [FULL] }, status }));
  return { status, headers: PRODUCT, body };
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  const { "transfer-encoding": _, ...kept } = headers;
  response.writeHead(status, { ...kept, "content-length": String(body.length) });
  response.end(body);
}

type Refused = { readonly at: number; readonly action: string };

/** Splits a bulk body: every other operation as text, and the positions and actions of the rest. */
function halve(body: Buffer): { passed: string[]; refused: Refused[] } {
  const lines = body.toString("utf8").split("\n").slice(0, -1);
  const passed: string[] = [];
  const refused: Refused[] = [];
  let at = 0;
  // Random, so that a retried item is not refused for ever.
  const odd = Math.random() < 0.5 ? 1 : 0;
  for (let i = 0; i < lines.length; at++) {
    const action = Object.keys(JSON.parse(lines[i]!) as object)[0]!;
    const length = action === "delete" ? 1 : 2;
    if (at % 2 === odd) refused.push({ at, action });
    else passed.push(`${lines.slice(i, i + length).join("\n")}\n`);
    i += length;
  }
  return { passed, refused };
}

/**
 * Returns the node's response for the forwarded items, with the refusals inserted at their
 * positions.
 */
function merge(answer: Answer | null, passed: readonly string[], refused: readonly Refused[]): Answer {
  const real = answer === null ? {} : (JSON.parse(answer.body.toString("utf8")) as { items?: object[] });
  // The service requests items only for failures.
  const items =
    real.items ?? passed.map((line) => ({ [Object.keys(JSON.parse(line.split("\n")[0]!))[0]!]: { status: 200 } }));
  for (const { at, action } of refused) items.splice(at, 0, { [action]: { status: 429, error: FULL } });
  const body = Buffer.from(JSON.stringify({ errors: refused.length > 0, items }));
  return { status: 200, headers: { ...PRODUCT, ...answer?.headers }, body };
}
