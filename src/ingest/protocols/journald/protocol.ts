import type { Failure } from "../../../http/errors.ts";
import type { PostEndpoint, ProtocolAnswer } from "../../kit/endpoint.ts";
import type { Protocol } from "../protocol.ts";
import { decodeJournal, ENTRY_MAX_BYTES, EntrySplitter } from "./decode.ts";

const TYPE = "text/plain; charset=utf-8";

/**
 * Protocol of systemd-journal-upload, as systemd-journal-remote implements it. One request holds
 * all entries of a journal since the last success.
 */
export const JOURNALD: Protocol = {
  name: "journald",
  page: "journald.md",
  match: (method, path) => (method === "POST" && path === "/upload" ? ENDPOINT : null),
};

const ENDPOINT: PostEndpoint = {
  kind: "post",
  pieces: { splitter: () => new EntrySplitter(), largest_bytes: ENTRY_MAX_BYTES },
  read: ({ body, choice }) => ({ items: decodeJournal(body, choice), accepted }),
  failed,
};

function accepted(): ProtocolAnswer {
  return { status: 202, type: TYPE, body: "OK.\n" };
}

/** Returns the response to a failure. The client writes its body into its log. */
function failed({ status, body }: Failure): ProtocolAnswer {
  return { status, type: "application/json", body: `${body.json()}\n` };
}
