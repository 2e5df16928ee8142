import { connect } from "node:http2";
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";

import { KEY } from "../../support/service.ts";

export const PATH = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";

/** Frames a message as gRPC does. */
export function framed(message: Buffer, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export type Answer = {
  readonly status: string;
  readonly message: string;
  readonly details: string;
  readonly body: Buffer;
  readonly headers: IncomingHttpHeaders;
};

/** Starts a call of the export service with the key of the first log. */
export function begin(session: ClientHttp2Session, headers: OutgoingHttpHeaders): ClientHttp2Stream {
  const stream = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
    te: "trailers",
    authorization: `Bearer ${KEY}`,
    ...headers,
  });
  return stream.on("error", () => {});
}

/** Makes a complete call of the export service. */
export async function call(
  session: ClientHttp2Session,
  body: Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const stream = begin(session, headers);
  let head: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  stream.on("response", (given) => (head = given));
  stream.on("trailers", (given) => (trailers = given));
  stream.end(body);
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  // Waits for the close, which also comes if the connection ends.
  await new Promise((resolve) => stream.once("close", resolve));
  const all = { ...head, ...trailers };
  return {
    status: String(all["grpc-status"] ?? head[":status"]),
    message: decodeURIComponent(String(all["grpc-message"] ?? "")),
    details: String(all["grpc-status-details-bin"] ?? ""),
    body: Buffer.concat(pieces),
    headers: head,
  };
}

export function openSession(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  return session;
}
