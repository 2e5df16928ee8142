import test from "ava";
import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync, constants } from "node:zlib";

import { LoggiaError } from "../../src/errors.ts";
import { BodyBudget } from "../../src/http/body-budget.ts";
import { unpack } from "../../src/http/unpack.ts";
import type { PackMethod } from "../../src/http/unpack.ts";
import { until } from "../support/until.ts";

const MB = 1024 * 1024;
const ERRORS = {
  tooLarge: () => new LoggiaError("body_too_large", "too large"),
  broken: () => new LoggiaError("bad_body", "broken"),
};
const PACK: Readonly<Record<PackMethod, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  zlib: deflateSync,
  raw: deflateRawSync,
  zstd: zstdCompressSync,
};
const METHODS = Object.keys(PACK) as PackMethod[];

for (const method of METHODS) {
  test(`${method}: a body is unpacked up to its limit, and a damaged one is refused`, async (t) => {
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 251));
    const packed = PACK[method](body);
    t.true((await unpack(method, packed, { ...ERRORS, most_bytes: body.length })).equals(body));
    await t.throwsAsync(unpack(method, packed, { ...ERRORS, most_bytes: body.length - 1 }), { message: "too large" });
    for (const damaged of [packed.subarray(0, packed.length - 5), Buffer.from("nonsense of some length")])
      await t.throwsAsync(unpack(method, damaged, { ...ERRORS, most_bytes: MB }), { message: "broken" });
  });

  test(`${method}: what is unpacked counts while it is unpacked, and waits for room`, async (t) => {
    const budget = new BodyBudget({ most_bytes: 16 * MB, wait_ms: 60_000 });
    const packed = PACK[method](Buffer.alloc(3 * MB, "x"));
    const shares = Array.from({ length: 20 }, () => budget.enter("ann"));
    let most_bytes = 0;
    const bodies = shares.map(async (share) => {
      const body = await unpack(method, packed, { ...ERRORS, most_bytes: 3 * MB, share });
      most_bytes = Math.max(most_bytes, budget.held_bytes);
      t.is(body.length, 3 * MB);
      t.true(share.held_bytes >= body.length);
      share.release();
    });
    await Promise.all(bodies);
    t.true(most_bytes <= 8 * MB, `${most_bytes} bytes, of which one owner may have half`);
    t.is(budget.held_bytes, 0);
  });
}

test("a body without room is given up with its client", async (t) => {
  const budget = new BodyBudget({ most_bytes: 2 * MB, wait_ms: 60_000 });
  await budget.enter("ann").hold(MB);
  const left = new AbortController();
  const share = budget.enter("ann");
  const packed = gzipSync(Buffer.alloc(MB));
  const unpacked = unpack("gzip", packed, { ...ERRORS, most_bytes: MB, share, gone: left.signal });
  await until(() => Promise.resolve(share.held_bytes > 0 || null), { what: "the beginning" });
  left.abort();
  await t.throwsAsync(unpacked, { message: /disconnected/ });
});

test("a window of zstd larger than HTTP allows is refused before it is allocated", async (t) => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 };
  const packed = zstdCompressSync(Buffer.alloc(40 * MB), { params });
  await t.throwsAsync(unpack("zstd", packed, { ...ERRORS, most_bytes: 64 * MB }), { message: "broken" });
});
