import type { Endpoint, PostEndpoint, Protocol } from "../protocol.ts";
import { decodeBulk } from "./decode.ts";
import { infoOf } from "./info.ts";
import { Actions, failure } from "./respond.ts";

/** Matches a bulk path. Old clients add a type after the index. */
const BULK = /^(?:\/(?<index>[^_/][^/]*)(?:\/[^/]+)?)?\/_bulk$/;

/** Elasticsearch's `_bulk` API, and the other APIs that its clients call. */
export const ELASTICSEARCH: Protocol = {
  name: "elasticsearch",
  match(method, path): Endpoint | null {
    const bulk = method === "POST" || method === "PUT" ? BULK.exec(path) : null;
    if (bulk !== null) return bulkEndpoint(decodeURIComponentSafely(bulk.groups?.["index"] ?? ""));
    const answer = infoOf(method, path);
    return answer === null ? null : { kind: "info", answer };
  },
};

function bulkEndpoint(indexOfPath: string): PostEndpoint {
  return {
    kind: "post",
    read(received) {
      const actions = new Actions();
      return {
        items: decodeBulk(received, indexOfPath, (action) => actions.add(action)),
        onDuplicate: (n) => actions.markDuplicate(n),
        accepted: (outcome) => actions.answer(outcome, received.headers.accept, received.query.get("filter_path")),
      };
    },
    failed: (failed, _error, headers) => failure(failed, headers.accept),
  };
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
