import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { parentPort } from "node:worker_threads";

import type { WorstRequest } from "./shapes.ts";

/** What to send, and where to. */
export type Sending =
  | { readonly to: "http"; readonly port: number; readonly key: string; readonly request: WorstRequest }
  | { readonly to: "tcp" | "udp"; readonly port: number; readonly bytes: Buffer };

/**
 * Sends on a thread of its own, one thing after the other, so that the thread of the service is
 * measured alone. Each message is answered by the first line of the response, or "" without one.
 */
if (parentPort !== null) {
  const parent = parentPort;
  parent.on("message", (sending: Sending) => {
    void send(sending).then((status) => parent.postMessage(status, []));
  });
}

async function send(sending: Sending): Promise<string> {
  if (sending.to === "http") return await request(sending.port, sending.key, sending.request);
  const bytes = Buffer.from(sending.bytes);
  if (sending.to === "tcp") return await exchange(sending.port, bytes, { ends: true });
  const socket = createSocket("udp4");
  for (let at = 0; at < bytes.length; at += DATAGRAM_BYTES) {
    const datagram = bytes.subarray(at, at + DATAGRAM_BYTES);
    await new Promise((resolve) => socket.send(datagram, sending.port, "127.0.0.1", resolve));
  }
  socket.close();
  return "";
}

const DATAGRAM_BYTES = 60_000;

function request(port: number, key: string, { method, path, headers, body }: WorstRequest): Promise<string> {
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  const head =
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${key}\r\nConnection: close\r\n` +
    `${lines.join("")}Content-Length: ${body.length}\r\n\r\n`;
  return exchange(port, Buffer.concat([Buffer.from(head), body]), { ends: false });
}

/** Writes bytes, and reads until the service closes the connection. Returns the first line. */
async function exchange(port: number, bytes: Buffer, { ends }: { readonly ends: boolean }): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => (text = text === "" ? chunk.toString("latin1") : text));
  const closed = once(socket, "close");
  if (ends) socket.end(bytes);
  else socket.write(bytes);
  await closed;
  return text.split("\r\n", 1)[0]!;
}
