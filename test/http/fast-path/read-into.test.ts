import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import type { AddressInfo } from "node:net";
import test from "ava";

import { readInto } from "../../../src/http/fast-path/read-into.ts";
import { until } from "../../support/until.ts";

test("bytes are read to the start of the buffer at first, and then as a stream", async (t) => {
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [socket] = (await once(server, "connection")) as [Socket];
  const buffer = Buffer.alloc(16);
  const pieces: string[] = [];
  const reading = readInto(socket, buffer, (size) => void pieces.push(buffer.toString("latin1", 0, size)));
  socket.resume();
  const comes = (count: number) =>
    until(() => Promise.resolve(pieces.length === count), { what: `piece ${count} has come` });

  t.not(reading, null, "this release of Node reads into a buffer");
  client.write("one");
  await comes(1);
  // The first read fills the buffer; the rest follows.
  client.write("a good deal more than");
  await comes(3);
  t.deepEqual(pieces, ["one", "a good deal more", " than"]);

  reading!.stop();
  socket.pause();
  client.end("this as ever, in pieces of sixteen");
  t.is(String(Buffer.concat(await socket.toArray())), "this as ever, in pieces of sixteen");
  t.is(pieces.length, 3);
  socket.destroy();
});

test("nothing changes if the runtime has no such way to read", (t) => {
  const socket = new Socket();
  t.is(
    readInto(socket, Buffer.alloc(16), () => {}),
    null,
  );
});
