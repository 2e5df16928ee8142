import type { IncomingHttpHeaders } from "node:http";

import type { ReceivingHook } from "../../catalog/catalog.ts";
import type { AttributeValue } from "../../events/attributes.ts";
import type { Geo } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { Failure } from "../../http/errors.ts";
import type { FieldChoice } from "./choice.ts";
import type { Severity } from "./severity.ts";

/**
 * A protocol that producers speak: which requests are its own, and how they are read and answered.
 */
export type Protocol = {
  readonly name: string;
  /**
   * The endpoint of a request; null where the protocol has none at this path.
   * @param path without `/1/logs/{k}` or `/keys/{apikey}` before it
   */
  match(method: string, path: string): Endpoint | null;
};

/** What a request finds at a path. */
export type Endpoint =
  /** Answers that clients ask for before they post. They tell nothing, and need no key. */
  { readonly kind: "info"; answer(settings: ProtocolSettings): ProtocolAnswer } | PostEndpoint;

/** What of the service's settings protocols show. */
export type ProtocolSettings = {
  /** The version of Elasticsearch that clients are told. */
  readonly elasticsearchVersion: string;
};

/** Where events are posted. */
export type PostEndpoint = {
  readonly kind: "post";
  /** A key that stands in the path, for clients that can set nothing else. */
  readonly secret?: string | undefined;
  /** The hook that the path names: a signature may stand in for a key. */
  readonly hook?: string;
  /** How a body is compressed, where `Content-Encoding` alone does not say. */
  readonly encoding?: "snappy unless JSON" | "by content";
  /**
   * Where a body may be of any length: how it is parted. Each piece is stored before the next is
   * read, so that a request may be refused after some of it is stored: its events need ids.
   */
  readonly pieces?: {
    /** How many bytes at the beginning are whole entries, at most so many. @throws LoggiaError `bad_body` */
    readonly split: (bytes: Buffer, most: number) => { readonly count: number; readonly end: number };
    readonly largest_bytes: number;
  };
  /**
   * Begins to read a body. Large bodies are read twice: once to see that all of it can be read.
   * @throws LoggiaError `bad_body`, `unsupported_media_type`
   */
  read(received: Received): Reading;
  /** The answer that tells of a failure, in the protocol's own form. */
  failed(failure: Failure, error: unknown, headers: IncomingHttpHeaders): ProtocolAnswer;
};

/** A request with its body, decompressed. */
export type Received = {
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly choice: FieldChoice;
  /** The hook that the request was made to, where one was made. */
  readonly hook?: ReceivingHook | null;
};

/** A body that is being read. */
export type Reading = {
  /** Every event in order. @throws LoggiaError `bad_body` */
  readonly items: Iterable<ReadEvent>;
  accepted(outcome: Outcome): ProtocolAnswer;
  /**
   * Called for each event that was stored before under its id.
   * @param n its place among all, from 0
   */
  known?(n: number): void;
};

/** One event of a body: itself, or why there is none. */
export type ReadEvent = ProducerEvent | Unread;

export type Unread = { readonly fault: string };

/**
 * Stands for no event: long work yields it now and then between two events, so that others have
 * their turn.
 */
export const PENDING: Unread = Object.freeze({ fault: "" });

/** What became of a request. Its events are durable. */
export type Outcome = {
  readonly accepted: number;
  readonly rejected: number;
  /** The first fault; null where there is none. */
  readonly fault: string | null;
  /** The ids of the accepted events, in order. */
  ids(): Iterable<EventId>;
};

/** An event as a producer described it: of any length, and not yet checked. */
export type ProducerEvent = {
  /** What the producer calls it, once for all events of its log: then a repeat is stored once. */
  readonly id?: string | undefined;
  /** "": the attributes stand in for it, as compact JSON. */
  readonly text: string;
  /** More than the text says, such as a stack; else the whole of a text that is cut is kept. */
  readonly data?: string | undefined;
  readonly severity: Severity | null;
  readonly source: string;
  readonly user: string;
  readonly link: string;
  /** A measure; absent where there is none. */
  readonly value?: number | null;
  readonly geo: Geo | null;
  readonly tags: readonly string[];
  /** When it happened; null where the producer does not say. */
  readonly time: ProducerTime | null;
  readonly attributes: ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;
};

/** A moment as a producer gave it. */
export type ProducerTime = {
  /** Whole milliseconds since the Unix epoch. */
  readonly ms: number;
  /** Nanoseconds beyond these, 0 to 999,999. */
  readonly ns: number;
};

/** An answer as a protocol words it. */
export type ProtocolAnswer = {
  readonly status: number;
  /** null: without a body. */
  readonly type: string | null;
  /** Long ones come in pieces. */
  readonly body: string | Uint8Array | Iterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The largest body, as it is sent and after decompression. */
export const BODY_MAX_BYTES = 64 * 1024 * 1024;

/** One that all clients of Elasticsearch in use talk to. */
export const DEFAULT_ELASTICSEARCH_VERSION = "8.19.0";
