import { once } from "node:events";
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

import type { WorstRequest } from "./shapes.ts";

/** Where requests are sent to. */
export type SenderData = { readonly port: number; readonly key: string };

/** What a request got: the first line of its response, or "" if the connection was closed without. */
export type Sent = { readonly name: string; readonly status: string };

/**
 * Sends requests on a thread of its own, one after the other, so that the thread of the service is
 * measured alone. Each message is a request, and is answered by what it got.
 */
if (parentPort !== null) {
  const { port, key } = workerData as SenderData;
  const parent = parentPort;
  parent.on("message", (request: WorstRequest) => {
    void send(port, key, request).then((sent) => parent.postMessage(sent));
  });
}

async function send(port: number, key: string, { name, method, path, headers, body }: WorstRequest): Promise<Sent> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (chunk) => (text = text === "" ? chunk.toString("latin1") : text));
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  const head =
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${key}\r\nConnection: close\r\n` +
    `${lines.join("")}Content-Length: ${body.length}\r\n\r\n`;
  socket.write(head);
  socket.write(body);
  await once(socket, "close");
  return { name, status: text.split("\r\n", 1)[0]! };
}
