import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";

import type { Taken } from "../ratelimit/budget.ts";
import type { Body, Format } from "./formats.ts";
import type { Streamed } from "./streamed.ts";
import type { EncodedBody } from "./streamed-list.ts";

/** A request on its way to the handler of its route. */
export type Call = {
  readonly request: IncomingMessage;
  /** Where it comes from, as one client is told from another. */
  readonly address: string;
  /** What stands in the path where the route has `:name`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly format: Format;
  readonly log: Logger;
  /** Fires when the client has left, or the answer was read: nobody waits for work on it any more. */
  readonly gone?: AbortSignal;
};

export type Reply = {
  readonly status: number;
  readonly body: Body | EncodedBody | Streamed | null;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Memory that was taken for the answer, in bytes; released when it was read or its connection
   * closed.
   */
  readonly memory?: Taken;
};

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Handler = (call: Call) => Promise<Reply>;

export type Route = {
  readonly method: Method;
  /** `/1/logs/:log`; a static part wins over a `:name`. */
  readonly path: string;
  /**
   * `all`: by `fmt` and `Accept`. With `all and html` the handler answers `fmt=html` itself; with
   * `files` it reads `fmt` itself, and has no JSONP. What fails is JSON then.
   */
  readonly formats: "all" | "all and html" | "files" | "json";
  readonly handle: Handler;
};

/** Told of each request that was answered: by which route (null: none), how, and how long it took. */
export type Observer = (answer: {
  readonly route: string | null;
  readonly method: string;
  readonly status: number;
  readonly duration_s: number;
}) => void;
