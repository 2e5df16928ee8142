import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import test from "ava";

import { serviceOf } from "../support/service.ts";
import { file, run, shipTo, rows } from "./ship-runs.ts";

test("a refused connection is reported at once, and the time limit applies to the whole run", async (t) => {
  const input = "a line\n".repeat(20_000);
  // An attempt may take as long as the time that is left, and this process may stall meanwhile.
  const { code, out, err } = await run([...shipTo("http://127.0.0.1:1"), "--patience", "15"], {
    input,
    keepsNotes: true,
  });
  t.is(code, 1);
  // One of twenty batches was tried; the others were not read.
  t.regex(out, /^posted 0, failed 1000, retried \d+\n$/);
  const [first, ...more] = err.trimEnd().split("\n");
  t.is(first, "loggia: http://127.0.0.1:1 accepts no posts: connect ECONNREFUSED 127.0.0.1:1; retrying for 15 s");
  const gaveUp = /^loggia: gave up after \d+ s; the last attempt at http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/;
  t.true(more.some((line) => gaveUp.test(line)));
  t.is(more.at(-1), "loggia: lines that were not read yet are not posted");
});

for (const [kind, said] of [
  ["unresponsive", "it does not answer"],
  ["busy", String.raw`503 \(not an answer of Loggia, but of a proxy or another server\)`],
] as const) {
  test(`a service that is ${kind} is reported before the time limit, with a summary`, async (t) => {
    const server = createServer((request, response) => {
      if (kind === "busy") request.resume().on("end", () => response.writeHead(503).end());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.teardown(() => server.close().closeAllConnections());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const words = [...shipTo(url), "--patience", "20"];
    const ship = () => run(words, { input: "one\n", keepsNotes: true });
    let { code, out, err } = await ship();
    // A busy service that stalls for seconds, as this process may, does not answer either.
    for (let again = 1; again <= 3 && !new RegExp(said).test(err); again += 1) ({ code, out, err } = await ship());
    t.is(code, 1);
    t.regex(out, /^posted 0, failed 1, /);
    t.regex(err, new RegExp(`^loggia: ${url} accepts no posts: ${said}; retrying for 20 s\n`));
    t.regex(err, /\nloggia: posted 0, failed 0, retried \d+, 0\/s\n/);
  });
}

test("a shipper that follows a file retries for ever, unless --patience is given", async (t) => {
  const words = [...shipTo("http://127.0.0.1:1"), "--follow", file(t, "a line\n")];
  const refused = "loggia: http://127.0.0.1:1 accepts no posts: connect ECONNREFUSED 127.0.0.1:1; retrying ";
  const endless = await run(words, { keepsNotes: true, stopOn: "retrying" });
  t.is(endless.err.split("\n")[0], `${refused}until it does`);
  const { code, err } = await run([...words, "--patience", "1"], { keepsNotes: true });
  t.is(err.split("\n")[0], `${refused}for 1 s`);
  t.is(code, 1);
});

test("a busy service is retried, no sooner than it asks", async (t) => {
  const moments_ms: number[] = [];
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      moments_ms.push(performance.now());
      if (moments_ms.length === 1) response.writeHead(503, { "Retry-After": "1" });
      else if (moments_ms.length === 2) response.writeHead(429);
      else response.writeHead(201);
      response.end('{"accepted":1,"rejected":0,"items":[{"id":"6b01546226800000168a1671"}]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { out, code } = await run(shipTo(url), { input: "a\n" });
  t.is(out, "posted 1, failed 0, retried 2\n");
  t.is(code, 0);
  t.true((moments_ms[1] ?? 0) - (moments_ms[0] ?? 0) >= 1000);
});

test("a batch whose response was lost is sent again under its key and stored once", async (t) => {
  const service = await serviceOf(t, "embedded");
  const keys: (string | undefined)[] = [];
  const encodings: (string | undefined)[] = [];
  // Forwards every request and drops the responses to the first two.
  const server = createServer((request, response) => {
    const onward = httpRequest(service.postUrl + request.url, { method: "POST", headers: request.headers });
    request.pipe(onward);
    keys.push(request.headers["idempotency-key"] as string | undefined);
    encodings.push(request.headers["content-encoding"]);
    const isLost = keys.length <= 2;
    onward.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () => {
        if (isLost) response.destroy();
        else response.writeHead(answer.statusCode ?? 500).end(Buffer.concat(chunks));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines = Array.from({ length: 300 }, (_, n) => `line ${n} of a log that says much the same all day`);
  const { out } = await run(shipTo(url), { input: lines.join("\n") });
  t.is(out, "posted 300, failed 0, retried 2\n");
  // On a busy machine the lines may form more batches than one; two requests are repeats, each
  // under its batch's key.
  t.is(keys.length, new Set(keys).size + 2);
  for (const key of keys) t.regex(key ?? "", /^[0-9a-f-]{36}$/);
  t.true(encodings.includes("gzip"));
  const found = await rows(service, 300);
  t.deepEqual(
    found.map(({ text }) => text),
    lines,
  );
});
