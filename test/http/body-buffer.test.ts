import test from "ava";

import { BodyBuffer } from "../../src/http/body-buffer.ts";

const MB = 1024 * 1024;

test("a body of known size takes little memory before it arrives, and grows in few steps", (t) => {
  const buffer = new BodyBuffer(64 * MB);
  buffer.announce(40 * MB);
  buffer.append(Buffer.from("ab"));
  t.true(buffer.capacity_bytes <= 16 * 1024);
  const capacities = new Set<number>();
  for (const piece = Buffer.alloc(64 * 1024, "x"); buffer.size_bytes < 40 * MB;) {
    buffer.append(piece.subarray(0, 40 * MB - buffer.size_bytes));
    capacities.add(buffer.capacity_bytes);
  }
  t.true(capacities.size <= 4, [...capacities].join(", "));
  t.is(buffer.capacity_bytes, 40 * MB);
  t.is(buffer.bytes.toString("latin1", 0, 4), "abxx");
});
