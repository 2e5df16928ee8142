import type { IncomingMessage } from "node:http";
import type { Logger } from "pino";

import type { Reservation } from "../ratelimit/budget.ts";
import type { Body, Format } from "./formats.ts";
import type { Streamed } from "./streamed.ts";
import type { EncodedBody } from "./streamed-list.ts";
import type { Scheduler } from "../scheduling/scheduler.ts";

/** A request as the handler of its route receives it. */
export type Call = {
  /** Shares the thread with background work. */
  readonly scheduler: Scheduler;
  readonly request: IncomingMessage;
  /** Client address, as rate limits use it. */
  readonly address: string;
  /** Decoded path segments at the places of `:name` in the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly format: Format;
  readonly log: Logger;
  /** Fires when the client has disconnected or the response has been sent; work may then stop. */
  readonly gone?: AbortSignal;
};

export type Reply = {
  readonly status: number;
  readonly body: Body | EncodedBody | Streamed | null;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Memory reserved for the response, in bytes. Released once the response is sent or the
   * connection closed.
   */
  readonly memory?: Reservation;
};

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Handler = (call: Call) => Promise<Reply>;

export type Route = {
  readonly method: Method;
  /** For example `/1/logs/:log`. A static segment wins over `:name`. */
  readonly path: string;
  /**
   * Response formats. `all`: by `fmt` and `Accept`. `all and html`: the handler itself answers
   * `fmt=html`. `files`: the handler reads `fmt` itself, and has no JSONP. Errors of the last two
   * are in JSON.
   */
  readonly formats: "all" | "all and html" | "files" | "json";
  readonly handle: Handler;
};

/** Called after each response, with the route (null if none), status and duration. */
export type Observer = (answer: {
  readonly route: string | null;
  readonly method: string;
  readonly status: number;
  readonly duration_s: number;
}) => void;
