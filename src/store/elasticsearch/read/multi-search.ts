import type { Client } from "@elastic/elasticsearch";

import { newSearcher } from "../client/scan.ts";
import type { SearchRequest, Searcher } from "../client/scan.ts";

type Answer = Awaited<ReturnType<Searcher>>;
type Waiting = { readonly request: SearchRequest; readonly resolve: (answer: Answer | Promise<Answer>) => void };

/**
 * Creates a searcher that sends searches started together in one request: the overhead of a request
 * is as large as a search of few events. The searches still run concurrently.
 */
export function createMultiSearcher(client: Client, index: string): Searcher {
  const alone = newSearcher(client, index);
  let waiting: Waiting[] = [];

  async function send(): Promise<void> {
    const some = waiting;
    waiting = [];
    const [first, second] = some;
    if (first !== undefined && second === undefined) return first.resolve(alone(first.request));
    const answers = await answersTo(some).catch(() => []);
    for (const [i, { request, resolve }] of some.entries()) {
      const answer = answers[i];
      // A separate search is retried, or fails with its usual error.
      resolve(answer === undefined || "error" in answer ? alone(request) : (answer as Answer));
    }
  }

  async function answersTo(some: readonly Waiting[]) {
    const header = { index, ignore_unavailable: true, allow_no_indices: true, allow_partial_search_results: false };
    const hidden = some.flatMap(({ request }) => request.filter_path ?? []);
    const { responses } = await client.msearch({
      searches: some.flatMap(({ request }) => [header, { ...request, filter_path: undefined }]),
      ...(hidden.length > 0 && { filter_path: hidden.flat() }),
    });
    return responses;
  }

  return (request) =>
    new Promise((resolve) => {
      waiting.push({ request, resolve });
      // Waits for other searches started in the same turn of the event loop.
      if (waiting.length === 1) setImmediate(() => void send());
    });
}
