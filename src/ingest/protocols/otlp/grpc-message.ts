import type { ServerHttp2Stream } from "node:http2";

import { LoggiaError } from "../../../errors.ts";
import { quote } from "../../../events/quote.ts";
import type { ReceivedBody } from "../../../http/body.ts";
import { BodyBuffer } from "../../../http/body-buffer.ts";
import type { BodyShare } from "../../../http/body-budget.ts";
import { decompress, mostInflated } from "../../kit/inflate.ts";
import { BODY_MAX_BYTES } from "../../kit/endpoint.ts";
import type { Scheduler } from "../../../scheduling/scheduler.ts";

/** Size of the head: a flag, and the length of the message. */
const HEAD_BYTES = 5;
const COMPRESSED = 1;
const METHODS: ReadonlySet<string> = new Set(["gzip", "deflate", "zstd"]);

export type ReceiveOptions = {
  /** Value of `grpc-encoding`. */
  readonly encoding: string;
  readonly scheduler: Scheduler;
  /** Memory of the message. It is reserved before the message is received. */
  readonly share: BodyShare;
  readonly deadline_ms: number;
  /** Fires when the client has disconnected. */
  readonly gone: AbortSignal;
};

/**
 * Receives and decompresses the only message of a call.
 * @throws LoggiaError `bad_body`, `body_too_large`, `request_timeout`, `unsupported_media_type`,
 * `overloaded`, `too_many_requests`
 */
export async function receiveMessage(
  stream: ServerHttp2Stream,
  { encoding, scheduler, share, deadline_ms, gone }: ReceiveOptions,
): Promise<ReceivedBody> {
  const { flags, message } = await receiveFrame(stream, { share, deadline_ms, gone });
  if (flags === 0) return { body: message, sent_bytes: message.length };
  if (flags !== COMPRESSED) throw new LoggiaError("bad_body", "The message has unknown flags");
  if (!METHODS.has(encoding)) {
    throw new LoggiaError(
      "unsupported_media_type",
      `grpc-encoding is ${quote(encoding)}; accepted: gzip, deflate, zstd`,
    );
  }
  const body = await decompress(message, encoding, BODY_MAX_BYTES, { scheduler, share, gone });
  share.claim(0);
  await share.hold(body.length, gone);
  return { body, sent_bytes: message.length };
}

type MessageFrame = { readonly flags: number; readonly message: Buffer };

function receiveFrame(
  stream: ServerHttp2Stream,
  { share, deadline_ms, gone }: Omit<ReceiveOptions, "encoding" | "scheduler">,
): Promise<MessageFrame> {
  const { promise, resolve, reject } = Promise.withResolvers<MessageFrame>();
  const head = Buffer.alloc(HEAD_BYTES);
  let head_bytes = 0;
  let size_bytes: number | null = null;
  const message = new BodyBuffer(BODY_MAX_BYTES);
  const add = (bytes: Buffer): void => {
    if (message.size_bytes + bytes.length <= size_bytes!) message.append(bytes);
    else reject(new LoggiaError("bad_body", "A call must have exactly one message"));
  };
  const begin = (announced_bytes: number, bytes: Buffer): void => {
    size_bytes = announced_bytes;
    message.announce(announced_bytes);
    add(bytes);
  };
  const take = (piece: Buffer): void => {
    if (size_bytes !== null) return add(piece);
    const copied = piece.copy(head, head_bytes);
    head_bytes += copied;
    if (head_bytes < HEAD_BYTES) return;
    const announced_bytes = head.readUInt32BE(1);
    const bytes = piece.subarray(copied);
    if (announced_bytes > BODY_MAX_BYTES) return reject(tooLarge());
    share.claim(announced_bytes + (head[0] === COMPRESSED ? mostInflated(announced_bytes, BODY_MAX_BYTES) : 0));
    if (share.tryHold(announced_bytes)) begin(announced_bytes, bytes);
    else {
      const resume = (): void => {
        begin(announced_bytes, bytes);
        stream.resume();
      };
      stream.pause();
      share.hold(announced_bytes, gone).then(resume, reject);
    }
  };
  const end = (): void => {
    if (message.size_bytes === size_bytes) resolve({ flags: head[0]!, message: message.bytes });
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

function tooLarge(): LoggiaError {
  return new LoggiaError("body_too_large", `The message has more than ${BODY_MAX_BYTES} bytes`);
}

/** Returns an uncompressed message with its head. */
export function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
