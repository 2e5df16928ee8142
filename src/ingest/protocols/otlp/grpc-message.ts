import type { ServerHttp2Stream } from "node:http2";

import { LoggiaError } from "../../../errors.ts";
import { quote } from "../../../events/quote.ts";
import type { ReceivedBody } from "../../../http/body.ts";
import { decompress, mostInflated } from "../inflate.ts";
import { BODY_MAX_BYTES } from "../protocol.ts";
import type { MemoryShare } from "../body-memory.ts";

/** Size of the head: a flag, and the length of the message. */
const HEAD_BYTES = 5;
const COMPRESSED = 1;
const INFLATED_FACTOR = 10;
const METHODS: ReadonlySet<string> = new Set(["gzip", "deflate", "zstd"]);

export type ReceiveOptions = {
  /** Value of `grpc-encoding`. */
  readonly encoding: string;
  /** Memory of the message. It is reserved before the message is received. */
  readonly share: MemoryShare;
  readonly deadline_ms: number;
};

/**
 * Receives and decompresses the only message of a call.
 * @throws LoggiaError `bad_body`, `body_too_large`, `request_timeout`, `unsupported_media_type`,
 * `overloaded`, `too_many_requests`
 */
export async function receiveMessage(
  stream: ServerHttp2Stream,
  { encoding, share, deadline_ms }: ReceiveOptions,
): Promise<ReceivedBody> {
  const { flags, message } = await receiveFrame(stream, share, deadline_ms);
  if (flags === 0) return { body: message, sent_bytes: message.length };
  if (flags !== COMPRESSED) throw new LoggiaError("bad_body", "The message has unknown flags");
  if (!METHODS.has(encoding)) {
    throw new LoggiaError(
      "unsupported_media_type",
      `grpc-encoding is ${quote(encoding)}; accepted: gzip, deflate, zstd`,
    );
  }
  share.reserve(
    message.length + Math.min(message.length * INFLATED_FACTOR, mostInflated(message.length, BODY_MAX_BYTES)),
  );
  const body = await decompress(message, encoding, BODY_MAX_BYTES);
  share.reserve(body.length);
  return { body, sent_bytes: message.length };
}

type MessageFrame = { readonly flags: number; readonly message: Buffer };

function receiveFrame(stream: ServerHttp2Stream, share: MemoryShare, deadline_ms: number): Promise<MessageFrame> {
  const { promise, resolve, reject } = Promise.withResolvers<MessageFrame>();
  const head = Buffer.alloc(HEAD_BYTES);
  let head_bytes = 0;
  let message: Buffer | null = null;
  let got_bytes = 0;
  const take = (piece: Buffer): void => {
    const copied = message === null ? piece.copy(head, head_bytes) : 0;
    head_bytes += copied;
    if (head_bytes < HEAD_BYTES) return;
    const rest = piece.subarray(copied);
    try {
      message ??= allocate(head.readUInt32BE(1), share);
      if (got_bytes + rest.length > message.length)
        throw new LoggiaError("bad_body", "A call must have exactly one message");
      got_bytes += rest.copy(message, got_bytes);
    } catch (error) {
      reject(error);
    }
  };
  const end = (): void => {
    if (message !== null && got_bytes === message.length) resolve({ flags: head[0]!, message });
    else reject(new LoggiaError("bad_body", "The message is incomplete"));
  };
  const timer = setTimeout(() => {
    reject(new LoggiaError("request_timeout", `The message did not arrive within ${deadline_ms / 1000} s`));
  }, deadline_ms);
  stream.on("data", take).once("end", end).once("close", end);
  return promise.finally(() => {
    clearTimeout(timer);
    stream.off("data", take).off("end", end).off("close", end);
  });
}

function allocate(size_bytes: number, share: MemoryShare): Buffer {
  if (size_bytes > BODY_MAX_BYTES) {
    throw new LoggiaError("body_too_large", `The message has more than ${BODY_MAX_BYTES} bytes`);
  }
  share.reserve(size_bytes);
  // The system provides the memory as it is written.
  return Buffer.allocUnsafeSlow(size_bytes);
}

/** Returns an uncompressed message with its head. */
export function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
