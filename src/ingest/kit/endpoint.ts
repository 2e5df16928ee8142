import type { IncomingHttpHeaders } from "node:http";

import type { ReceivingHook } from "../../catalog/catalog.ts";
import type { AttributeValue } from "../../events/attributes.ts";
import type { Geo } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import type { Keywords } from "../../events/keywords.ts";
import type { FieldLimits } from "../../events/limits.ts";
import type { Failure } from "../../http/errors.ts";
import type { Admit } from "./admission.ts";
import type { FieldChoice } from "./choice.ts";
import type { ProducerTime } from "./time-forms.ts";
import type { Severity } from "./severity.ts";
import type { Pending } from "./steps.ts";

/** An endpoint of a protocol. */
export type ProtocolEndpoint = InfoEndpoint | PostEndpoint;

/** Information that clients request before they post. It is not confidential. */
export type InfoEndpoint = {
  readonly kind: "info";
  answer(asked: Asked): ProtocolAnswer;
  /** Set if the request needs an API key, so that a client learns of a wrong one before it posts. */
  readonly failed?: FailureAnswer;
};

/** Returns the response for a failure, in the form of the protocol. */
export type FailureAnswer = (failure: Failure, error: unknown, headers: IncomingHttpHeaders) => ProtocolAnswer;

/** What the answer to a request for information may depend on. */
export type Asked = { readonly settings: ProtocolSettings; readonly headers: IncomingHttpHeaders };

/** Values of the settings that the manifests of protocols declare, by their names. */
export type ProtocolSettings = ReadonlyMap<string, string>;

/** An endpoint that takes events. */
export type PostEndpoint = {
  readonly kind: "post";
  /** API key in the path, for clients that can configure nothing else. */
  readonly secret?: string | undefined;
  /** Admits a request, if not its API key alone does. */
  readonly admit?: Admit;
  /** Whether no request stores anything. Its body may then have 64 KB. */
  readonly storesNothing?: boolean;
  /** Compression of the body, if `Content-Encoding` does not determine it. */
  readonly encoding?: "snappy unless JSON" | "by content";
  /**
   * How to split a body of unlimited length. Each piece is stored before the next is read, so a
   * request may be refused after a part of it is stored. Its events therefore need ids.
   */
  readonly pieces?: {
    readonly splitter: () => Splitter;
    readonly largest_bytes: number;
  };
  /**
   * Starts to decode a body. Large ones are decoded twice: first to check that all of it is
   * readable.
   * @throws LoggiaError `bad_body`, `unsupported_media_type`
   */
  read(received: Received): BodyReading;
  readonly failed: FailureAnswer;
};

/** Finds whole entries in bytes that arrive in pieces. */
export type Splitter = {
  /**
   * Returns count and end of the whole entries found, at most `most`, in the bytes since the last
   * end. It continues where it stopped.
   * @throws LoggiaError `bad_body`
   */
  split(bytes: Buffer, most: number): Generator<Pending, { readonly count: number; readonly end: number }>;
  /** Continues with the bytes after the last end. */
  restart(): void;
};

/** A request with its decompressed body. */
export type Received = {
  readonly body: Buffer;
  /** Size of the body before decompression, which bounds what its events may have in common. */
  readonly sent_bytes: number;
  readonly limits: FieldLimits;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly choice: FieldChoice;
  /** The hook that the request was sent to, if any. */
  readonly hook?: ReceivingHook | null;
};

/** A body that is being decoded. */
export type BodyReading = {
  /** All events in order. @throws LoggiaError `bad_body` */
  readonly items: Iterable<ReadEvent>;
  accepted(outcome: Outcome): ProtocolAnswer;
  /**
   * Called for each event that is stored already under its id.
   * @param n index of the event in the body, from 0
   */
  onDuplicate?(n: number): void;
};

/** One entry of a body: an event, or the fault that prevents one. */
export type ReadEvent = ProducerEvent | DecodeFault;

export type DecodeFault = { readonly fault: string };

/** Result of a request whose events are durable. */
export type Outcome = {
  readonly accepted: number;
  readonly rejected: number;
  /** The first fault; null if there is none. */
  readonly fault: string | null;
  /** Returns the ids of the accepted events, in order. */
  ids(): Iterable<EventId>;
};

/** An event as a producer described it: of any length, and not validated. Absent keywords are left out. */
export type ProducerEvent = Readonly<Partial<Keywords>> & {
  /** The producer's id, unique within its log. A repeated event with an id is stored once. */
  readonly id?: string | undefined;
  /** If empty, the attributes replace it, as compact JSON. */
  readonly text: string;
  /** Details beyond the text, such as a stack trace. Absent: the full text, if that is cut. */
  readonly data?: string | undefined;
  readonly severity: Severity | null;
  readonly source: string;
  /** Set if the source is only that: a source known from elsewhere takes precedence. */
  readonly sourceKind?: "host" | "logger" | undefined;
  /** A measured value; absent if there is none. */
  readonly value?: number | null;
  readonly geo: Geo | null;
  readonly tags: readonly string[];
  /** When the event happened; null if the producer does not say. */
  readonly time: ProducerTime | null;
  /** Whether the producer gave a time that cannot be read. It is an attribute. Default: false */
  readonly isTimeUnread?: boolean;
  readonly attributes: ReadonlyMap<string, AttributeValue | readonly AttributeValue[]>;
};

/** A response in the form of a protocol. */
export type ProtocolAnswer = {
  readonly status: number;
  /** null: no body. */
  readonly type: string | null;
  /** Long bodies are generated in pieces. */
  readonly body: string | Uint8Array | Iterable<string>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Size limit of a body, both as sent and after decompression. */
export const BODY_MAX_BYTES = 64 * 1024 * 1024;

/** Size limit of a body of which nothing is stored. */
export const SMALL_BODY_MAX_BYTES = 64 * 1024;
