import type { z } from "zod";

import type { ErrorCode } from "../errors.ts";
import type { Method, Route } from "../http/route.ts";
import type { Who } from "../auth/requests/access.ts";

/** An endpoint: its address, who may call it, and its documentation in terms of OpenAPI. */
export type Endpoint = {
  readonly method: Method;
  /** For example `/1/logs/:log`. */
  readonly path: string;
  /** Default: `all` */
  readonly formats?: Route["formats"];
  /** Who may call it: checked before `handle`, documented, and compared with the answers by a test. */
  readonly who: Who;
  /** Unique name, which generated clients use. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Descriptions of parameters of the path that are not common to several endpoints. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: z.ZodObject;
  /** Required fields of `query`. */
  readonly required?: readonly string[];
  readonly form?: z.ZodType;
  readonly json?: z.ZodType;
  /** Schema of a line of `application/x-ndjson`. */
  readonly lines?: z.ZodType;
  /** Successful responses, by status. */
  readonly answers: Readonly<Record<number, EndpointAnswer>>;
  /** Possible errors besides those of every call, of its credentials and of its access. */
  readonly errors?: readonly ErrorCode[];
};

export type EndpointAnswer = {
  readonly what: string;
  /** A named schema; absent: the response has no body. */
  readonly schema?: z.ZodType;
  /** Content types of a streamed response. */
  readonly streams?: readonly string[];
  readonly headers?: readonly (keyof typeof HEADERS)[];
};

export const TAGS = {
  logs: "Logs, which contain everything else",
  events: "Events, as they were posted",
  bookmarks: "Events that users have bookmarked",
  alerts: "Events of classes that users want alerts for",
  classes: "Class filters, which classify events",
  query: "Queries in LQL",
  sessions: "Signing in and out with a cookie",
  management: "Accounts, logs and their settings, and operations",
  posting: "The posting address, which accepts events",
  description: "The description of this API",
} as const;
export type Tag = keyof typeof TAGS;

export const HEADERS = {
  Location: "The address of the created record.",
  Link: "The neighbouring pages, as rel=next and rel=prev.",
  "Set-Cookie": "The cookie of the session; when it ends, one that removes it.",
  "X-Total-Count": "How many records all pages have: up to 10,000, or more with `total=exact`.",
  "X-Total-At-Least": "10000, instead of `X-Total-Count`, if there are more records than that.",
  "X-Loggia-Hint":
    "What was probably meant: for an unknown parameter close to a known one, or a class that no event has.",
} as const;
