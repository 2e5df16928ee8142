import { encode } from "@msgpack/msgpack";
import test from "ava";

import { decodeValue, plainValue } from "../../../src/ingest/kit/msgpack.ts";

/** Returns a record whose text is replaced by bytes of the same length. */
function recordWith(given: Buffer, record: (text: string) => object): Buffer {
  const filler = "#".repeat(given.length);
  const bytes = Buffer.from(encode(record(filler)));
  const at = bytes.indexOf(filler);
  given.copy(bytes, at);
  return bytes;
}

const UNITS = [1, 3, 40, 100];

test("a text that is not UTF-8 swallows nothing, whatever its length", (t) => {
  for (const n of UNITS) {
    const text = "café ouvert ".repeat(n);
    const bytes = recordWith(Buffer.from(text, "latin1"), (log) => ({ log, user: "ann", n: 5 }));
    t.deepEqual(decodeValue(bytes), { log: text, user: "ann", n: 5 }, `${n}`);
  }
  const end = recordWith(Buffer.from("caf\xe9", "latin1"), (log) => ({ log, user: "ann" }));
  t.deepEqual(decodeValue(end), { log: "café", user: "ann" });
});

test("bad sequences beside UTF-8 become U+FFFD, in short texts as in long ones", (t) => {
  for (const n of UNITS) {
    const bad = Buffer.concat([Buffer.from("Größe ".repeat(n)), Buffer.from([0xe2, 0x82])]);
    const bytes = recordWith(bad, (log) => ({ log, user: "Zoë" }));
    t.deepEqual(decodeValue(bytes), { log: `${"Größe ".repeat(n)}\ufffd`, user: "Zoë" }, `${n}`);
  }
});

test("names are checked like texts", (t) => {
  const bytes = recordWith(Buffer.from("caf\xe9", "latin1"), (name) => ({ [name]: 1, user: "ann" }));
  t.deepEqual(decodeValue(bytes), { café: 1, user: "ann" });
});

test("binary data and valid values are decoded as they are", (t) => {
  const value = {
    id: Buffer.from([0xe9, 0x20, 0xff]),
    list: [[-1, 5, 300, 1.5, null, true], "日本語😀", "x".repeat(500)],
  };
  const decoded = decodeValue(Buffer.from(encode(value))) as typeof value;
  t.deepEqual(Buffer.from(decoded.id), value.id);
  t.deepEqual(plainValue(decoded.list), value.list);
});

test("a value that is incomplete is refused", (t) => {
  const bytes = Buffer.from(encode({ log: "café", list: [1, 2, 3] }));
  for (let end = 1; end < bytes.length; end++) {
    t.throws(() => decodeValue(bytes.subarray(0, end)), { name: "LoggiaError" }, String(end));
  }
});
