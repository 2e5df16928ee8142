/**
 * Rebuilds a store in a process that a test can kill: prints a line when it reaches a request, and
 * stops there.
 *
 * node rebuild-process.ts <namespace> <request> <before | after> [what the request names]
 */
import { writeSync } from "node:fs";

import { openElasticsearchStore } from "../../../../src/store/elasticsearch/store.ts";
import { elasticsearchClient } from "../../../support/elasticsearch.ts";
import { intercept, SILENT } from "../rebuild-fixture.ts";

const [namespace, name, when, what = ""] = process.argv.slice(2);
const client = elasticsearchClient(SILENT);

async function stay(): Promise<void> {
  writeSync(1, "here\n");
  await new Promise<never>(() => setInterval(() => {}, 1000));
}

const watched = intercept(client, name!, async (request, ...given) => {
  if (!JSON.stringify(given).includes(what)) return request();
  if (when === "before") await stay();
  const answer = await request();
  await stay();
  return answer;
});
const store = await openElasticsearchStore({ client: watched, namespace: namespace!, log: SILENT });
await store.rebuild!({
  since: 0,
  fill: async () => {},
  revise: (event) => event,
  signal: new AbortController().signal,
});
