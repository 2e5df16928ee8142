/**
 * The minimal server between a client and Elasticsearch: `node:http` that forwards a search, and
 * its response unread. It is a separate process, as the service is.
 */
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

const [target] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const server = createServer((incoming, outgoing) => {
  const body = Buffer.from(new URL(incoming.url ?? "/", "http://localhost").searchParams.get("search") ?? "{}");
  const headers = { "Content-Type": "application/json", "Content-Length": body.length };
  const asked = request(target!, { method: "POST", agent, headers }, (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.on("error", (error) => outgoing.destroy(error));
    response.pipe(outgoing);
  });
  asked.on("error", (error) => outgoing.destroy(error));
  asked.end(body);
});
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
