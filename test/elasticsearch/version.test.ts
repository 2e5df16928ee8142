import test, { type ExecutionContext } from "ava";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";

import { createElasticsearchClient, translated } from "../../src/elasticsearch/client.ts";

type Answer = { readonly status: number; readonly body: object };
type Asked = { readonly url: string; readonly accept: string; readonly type: string };

const FORBIDDEN: Answer = { status: 403, body: { error: { type: "security_exception", reason: "no" } } };
const NO_HANDLER: Answer = { status: 400, body: { error: "no handler found for uri [/] and method [GET]" } };
const WRONG_API: Answer = { status: 400, body: { error: { type: "media_type_header_exception", reason: "no" } } };
const infoOf = (number: string): Answer => ({ status: 200, body: { version: { number } } });
const nodesOf = (version: string): Answer => ({ status: 200, body: { nodes: { abc: { version } } } });

/** Starts a node that answers the two questions so, and everything else by `answer`. */
async function startNode(
  t: ExecutionContext,
  { info, nodes = NO_HANDLER, answer = () => ({ status: 200, body: {} }) }: NodePlan,
): Promise<{ asked: readonly Asked[]; client: ReturnType<typeof createElasticsearchClient>; url: string }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const { url = "", headers } = request;
    const question: Asked = { url, accept: headers.accept ?? "", type: headers["content-type"] ?? "" };
    if (request.method !== "HEAD") asked.push(question);
    const given = url === "/" ? info() : url.startsWith("/_nodes/_local?") ? nodes : answer(question);
    response.writeHead(given.status, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" });
    response.end(JSON.stringify(given.body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createElasticsearchClient({ nodes: [url], log: pino({ level: "silent" }) });
  t.teardown(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { asked, client, url };
}

type NodePlan = {
  readonly info: () => Answer;
  readonly nodes?: Answer;
  readonly answer?: (asked: Asked) => Answer;
};

const BULK = { operations: [{ delete: { _index: "any", _id: "1" } }] };

const PLANS: readonly (readonly [what: string, plan: NodePlan, api: number])[] = [
  ["9", { info: () => infoOf("9.5.3") }, 9],
  ["8", { info: () => infoOf("8.19.5") }, 8],
  ["9 that does not serve its version", { info: () => NO_HANDLER, nodes: nodesOf("9.5.3") }, 9],
  ["8 that does not serve its version", { info: () => NO_HANDLER, nodes: nodesOf("8.19.5") }, 8],
  ["a version that the credentials may not read", { info: () => FORBIDDEN, nodes: FORBIDDEN }, 8],
];

for (const [what, plan, api] of PLANS) {
  test(`the version is asked first, and requests to ${what} are of the API of ${api}`, async (t) => {
    const { asked, client } = await startNode(t, plan);
    await client.search({ index: "any" });
    await client.bulk(BULK);
    const [search, bulk] = asked.filter(({ url }) => url.startsWith("/any/_search") || url.startsWith("/_bulk"));
    t.deepEqual(asked[0], { url: "/", accept: "application/json", type: "application/json" });
    const json = `application/vnd.elasticsearch+json; compatible-with=${api}`;
    t.is(search?.accept, json);
    t.is(bulk?.accept, json);
    t.is(bulk?.type, `application/vnd.elasticsearch+x-ndjson; compatible-with=${api}`);
    t.is(asked.filter(({ url }) => url === "/").length, 1);
  });
}

for (const version of ["7.17.28", "8.18.4", "10.0.0"]) {
  test(`${version} is refused by one line that lists the supported releases`, async (t) => {
    const { asked, client, url } = await startNode(t, { info: () => infoOf(version) });
    await t.throwsAsync(
      translated(() => client.search({ index: "any" })),
      {
        message: `Elasticsearch at ${url} is version ${version}; supported are 8.19 and later releases of 8, and 9`,
      },
    );
    t.is(asked.length, 1);
  });
}

test("while a cluster is upgraded, requests that a node of 8 refuses are sent in its API", async (t) => {
  const { asked, client } = await startNode(t, {
    info: () => infoOf("9.0.0"),
    answer: ({ accept }) => (accept.endsWith("=9") ? WRONG_API : { status: 200, body: {} }),
  });
  await client.bulk(BULK, { maxRetries: 0 });
  await client.bulk(BULK, { maxRetries: 0 });
  t.deepEqual(
    asked.map(({ url, accept }) => url.slice(0, 6) + accept.slice(-2)),
    ["/on", "/_bulk=9", "/_bulk=8", "/_bulk=8"],
  );
});

test("a version that could not be read is asked for again", async (t) => {
  const answers: Answer[] = [{ status: 500, body: { error: { type: "some_exception", reason: "no" } } }];
  const { client } = await startNode(t, { info: () => answers.shift() ?? infoOf("8.19.5") });
  await t.throwsAsync(
    translated(() => client.search({ index: "any" })),
    { message: /returned 500/ },
  );
  await t.notThrowsAsync(client.search({ index: "any" }));
});
