import type { ExecutionContext } from "ava";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { elasticsearchUrl } from "../support/engines.ts";
import type { Certificate } from "./certificate.ts";

export const USER = "loggia";
export const PASSWORD = "Se3ret: with colons";
export const API_KEY = "Um9uZG8tbGEtU2VjcmV0YQ==";

const ALLOWED: ReadonlySet<string> = new Set([
  `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`,
  `ApiKey ${API_KEY}`,
]);

/** The challenges that Elasticsearch sends to clients without credentials, or with wrong ones. */
const CHALLENGES = ['Basic realm="security", charset="UTF-8"', 'Bearer realm="security"', "ApiKey"];

/** A proxy before a node; `passed` and `refused` count the requests. */
export type GuardedElasticsearch = { readonly url: string; readonly passed: number; readonly refused: number };

/**
 * Puts the run's Elasticsearch behind TLS and credentials. Its own node has no security, so this
 * proxy checks them, responds as Elasticsearch does, and forwards requests with the right ones.
 */
export async function guardElasticsearch(
  t: Pick<ExecutionContext, "teardown">,
  { keystore, password }: Certificate,
): Promise<GuardedElasticsearch> {
  const counts = { passed: 0, refused: 0 };
  const node = new URL(elasticsearchUrl());
  const server = createServer({ pfx: readFileSync(keystore), passphrase: password }, (request, response) => {
    if (ALLOWED.has(request.headers.authorization ?? "")) {
      counts.passed++;
      passOn(node, request, response);
    } else {
      counts.refused++;
      refuse(request, response);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    get passed() {
      return counts.passed;
    },
    get refused() {
      return counts.refused;
    },
  };
}

function passOn(node: URL, request: IncomingMessage, response: ServerResponse): void {
  const { authorization: _, ...headers } = request.headers;
  const passed = forward({ host: node.hostname, port: node.port, method: request.method, path: request.url, headers });
  passed.once("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.once("error", () => response.destroy());
  response.once("close", () => passed.destroy());
  request.pipe(passed);
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const { authorization } = request.headers;
  const where = `for REST request [${request.url}]`;
  const reason =
    authorization === undefined
      ? `missing authentication credentials ${where}`
      : authorization.startsWith("Basic ")
        ? `unable to authenticate user [${USER}] ${where}`
        : `unable to authenticate with provided credentials and anonymous access is not allowed for this request`;
  const error = { type: "security_exception", reason, header: { "WWW-Authenticate": CHALLENGES } };
  response.writeHead(401, {
    "content-type": "application/json",
    "www-authenticate": CHALLENGES,
    "x-elastic-product": "Elasticsearch",
  });
  response.end(JSON.stringify({ error: { root_cause: [error], ...error }, status: 401 }));
}
