/**
 * The limit of posting: `node:http` that reads a form, parses it and responds 201. It is a separate
 * process, as the service is.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const form = new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
    const payload = `{"length":${form.get("text")?.length ?? 0}}`;
    response.writeHead(201, { "Content-Type": "application/json; charset=utf-8", "Content-Length": payload.length });
    response.end(payload);
  });
});
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
