import { LoggiaError } from "../../../errors.ts";
import { decodeSegment } from "../../../http/segment.ts";
import { isObject, parseBody } from "../../kit/json.ts";
import type { ProtocolEndpoint, PostEndpoint, ProtocolAnswer } from "../../kit/endpoint.ts";
import { failed, PRODUCT, elasticsearchMediaType } from "./respond.ts";

const SEGMENT = /^\/([^/]+)$/;
/** Matches an index by the rules for their names, or by date math: `<logs-{now/d}-000001>`. */
const INDEX = /^(?:[a-z0-9][^/\\*?"<>| ,#A-Z]*|<.+>)$/;
const MEMBERS: ReadonlySet<string> = new Set(["aliases", "mappings", "settings"]);
/** Any index exists, since an event of any index can be stored. */
const EXISTS: ProtocolAnswer = { status: 200, type: "application/json", headers: PRODUCT, body: "" };

/** Returns the endpoint of an index itself, which some clients create before they post. */
export function indexEndpoint(method: string, path: string): ProtocolEndpoint | null {
  if (method !== "HEAD" && method !== "PUT") return null;
  const index = decodeSegment(SEGMENT.exec(path)?.[1] ?? "");
  if (!INDEX.test(index)) return null;
  return method === "HEAD" ? { kind: "info", answer: () => EXISTS } : creation(index);
}

/** Creating an index stores nothing, so a body that may be an event is refused. */
function creation(index: string): PostEndpoint {
  const body = JSON.stringify({ acknowledged: true, shards_acknowledged: true, index });
  return {
    kind: "post",
    storesNothing: true,
    read(received) {
      const given = received.body.length === 0 ? {} : parseBody(received.body);
      if (!isObject(given) || !Object.keys(given).every((name) => MEMBERS.has(name))) {
        const reason = `An index is created with ${[...MEMBERS].join(", ")}; events are posted by _bulk or _doc`;
        throw new LoggiaError("bad_body", reason);
      }
      const accepted = () => ({
        status: 200,
        type: elasticsearchMediaType(received.headers.accept),
        headers: PRODUCT,
        body,
      });
      return { items: [], accepted };
    },
    failed,
  };
}
