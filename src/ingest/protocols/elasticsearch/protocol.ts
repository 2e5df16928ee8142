import { decodeSegment } from "../../../http/segment.ts";
import type { ProtocolEndpoint, PostEndpoint } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeBulk, decodeOne } from "./decode.ts";
import { indexEndpoint } from "./indices.ts";
import { infoAnswer, VERSION_SETTING } from "./info.ts";
import { Actions, failed } from "./respond.ts";

/** Matches a bulk path. Old clients add a type after the index. */
const BULK = /^(?:\/(?<index>[^_/][^/]*)(?:\/[^/]+)?)?\/_bulk$/;
/** Matches the path of one document. */
const DOCUMENT = /^\/(?<index>[^_/][^/]*)\/(?<api>_doc|_create)(?:\/(?<id>[^/]+))?$/;

/** Elasticsearch's `_bulk` and document APIs, and the other APIs that its clients call. */
export const ELASTICSEARCH: Protocol = {
  name: "elasticsearch",
  page: "elasticsearch.md",
  settings: [VERSION_SETTING],
  match(method, path): ProtocolEndpoint | null {
    if (method === "POST" || method === "PUT") {
      const bulk = BULK.exec(path)?.groups;
      if (bulk !== undefined) return bulkEndpoint(decodeSegment(bulk["index"] ?? ""));
      const { index, api, id } = DOCUMENT.exec(path)?.groups ?? {};
      if (index !== undefined && (id !== undefined || (method === "POST" && api === "_doc"))) {
        return documentEndpoint(decodeSegment(index), {
          operation: api === "_create" ? "create" : "index",
          id: id === undefined ? null : decodeSegment(id),
        });
      }
    }
    const answer = infoAnswer(method, path);
    if (answer === null) return indexEndpoint(method, path);
    return path === "/" ? { kind: "info", answer, failed } : { kind: "info", answer };
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
        accepted: (outcome) => actions.answer(outcome, received.headers, received.query.get("filter_path")),
      };
    },
    failed,
  };
}

function documentEndpoint(
  index: string,
  { operation, id }: { readonly operation: "index" | "create"; readonly id: string | null },
): PostEndpoint {
  return {
    kind: "post",
    read(received) {
      const isCreate = operation === "create" || received.query.get("op_type") === "create";
      const action = { operation: isCreate ? "create" : "index", index, id, refusal: null } as const;
      const actions = new Actions();
      return {
        items: decodeOne(received, action, () => actions.add(action)),
        onDuplicate: (n) => actions.markDuplicate(n),
        accepted: (outcome) => actions.answerOnly(outcome, received.headers.accept),
      };
    },
    failed,
  };
}
