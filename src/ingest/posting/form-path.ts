import type { IncomingHttpHeaders, Server } from "node:http";

import type { Catalog } from "../../catalog/catalog.ts";
import { authorizeFromMemory } from "../../auth/requests/posting-key.ts";
import { LoggiaError } from "../../errors.ts";
import type { PostClock } from "../../events/clock.ts";
import type { FieldLimits } from "../../events/limits.ts";
import { toFailure } from "../../http/errors.ts";
import type { FailureLog } from "../../http/failure-log.ts";
import { addFastPath } from "../../http/fast-path/fast-path.ts";
import type { FastPath, FastPathOptions } from "../../http/fast-path/fast-path.ts";
import { parseForm } from "../../http/form.ts";
import { JSON_FORMAT, negotiate } from "../../http/formats.ts";
import { decodeSegment } from "../../http/segment.ts";
import { forwardingHeaders } from "../../ratelimit/address.ts";
import { createdRange } from "../append/created.ts";
import type { PostCallbacks } from "../append/post-queue.ts";
import type { WriteCoalescer } from "../append/write-coalescer.ts";
import { POSTED_HEADERS, renderAnswer } from "./answers.ts";
import { announcedJsonType, hasMorePairs } from "./json-request.ts";
import type { PostObserver } from "./post-observer.ts";
import { POST_PATH } from "./post-path.ts";
import { validateEvent } from "./validated-event.ts";

const NO_QUERY = new URLSearchParams();

/** Log path of a form post, and the headers with which a trusted proxy names its client. */
type FormRoute = { readonly path: string; readonly headers: IncomingHttpHeaders };

/** Parts of the listener that the path uses. */
export type FormPathOptions = Parameters<typeof authorizeFromMemory>[3] & {
  readonly catalog: Catalog;
  readonly coalescer: WriteCoalescer;
  readonly clock?: PostClock;
  readonly limits: FieldLimits;
  readonly observe: PostObserver;
  readonly failures: Pick<FailureLog, "note">;
};

/**
 * Adds the path that serves nearly all posts: a valid event as a form that includes the key. All
 * other requests are left to the listener.
 */
export function addFormPath(
  server: Server,
  options: FormPathOptions,
  times: FastPathOptions,
): ReturnType<typeof addFastPath> {
  return addFastPath(server, createFormPath(options), times);
}

function createFormPath(options: FormPathOptions): FastPath<FormRoute> {
  const { coalescer, limits, observe, failures } = options;
  return {
    route({ method, target, headers }) {
      const [, key, table] = POST_PATH.exec(target) ?? [];
      if (method !== "POST" || key === undefined || table !== "events") return null;
      // The log's settings decide whether a page may read the response.
      if (headers.get("origin") !== undefined) return null;
      if (announcedJsonType(headers.get("content-type")) !== null) return null;
      if (negotiate(NO_QUERY, headers.get("accept")) !== JSON_FORMAT) return null;
      return { path: decodeSegment(key), headers: forwardingHeaders(headers) };
    },
    take({ path, headers }, body, socket, answer) {
      if (isLongForm(body)) return false;
      const fields = parseForm(body);
      const read = validateEvent(fields, limits, () => createdRange(path, options));
      if (read.kind === "bad") return false;
      // Last, because it counts the request.
      const target = authorizeFromMemory(path, fields.get("apikey") ?? "", { socket, headers }, options);
      if (target === null) return false;
      observe.began();
      const callbacks: PostCallbacks = {
        resolve(id) {
          observe.ended("accepted", 1);
          answer({ status: 201, headers: POSTED_HEADERS, payload: `{"id":"${id}"}` });
        },
        reject(error) {
          observe.ended(error instanceof LoggiaError ? error.code : "internal_error", 0);
          failures.note(error, { method: "POST", route: "/1/logs/{log}/events", sender: { socket, headers } });
          const { status, headers: added, body } = toFailure(error);
          answer({ status, ...renderAnswer(JSON_FORMAT, added, body) });
        },
      };
      coalescer.submitWithCallbacks(target, read.valid, callbacks, read.created);
      return true;
    },
  };
}

/** Sizes of a form that is read in some tenths of a millisecond. */
const [FAST_BYTES, FAST_PAIRS] = [8 * 1024, 200];

/** Whether reading a form could take long, so that it needs a turn of its own. */
function isLongForm(body: Buffer): boolean {
  return body.length > FAST_BYTES || (body.length > FAST_PAIRS && hasMorePairs(body, FAST_PAIRS));
}
