import test from "ava";
import * as fc from "fast-check";

import { createScan, foldedText, setText, encode } from "../../../pipelines/classify/scan.ts";
import { isAscii } from "../../../src/events/ascii.ts";
import { fold } from "../../../src/events/text.ts";

const scan = createScan();
const unit = fc.constantFrom("a", "B", " ", "é", "É", "€", "\u212a", "\u{1f600}", "\ud83d", "\0", "\u0130");
const texts = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit, maxLength: 40 }));

test("the folded text is the same before and after its bytes were written", (t) => {
  fc.assert(
    fc.property(texts, fc.boolean(), (text, writesFirst) => {
      setText(scan, text);
      if (writesFirst) encode(scan);
      t.is(foldedText(scan), fold(text));
      encode(scan);
      t.is(foldedText(scan), fold(text));
    }),
  );
});

test("there is a byte for each unit, and the ASCII flag is right for any length", (t) => {
  for (const length of [0, 1, 1_000, 1_015, 1_016, 1_017, 1_018, 1_019, 1_020, 1_021, 1_024, 5_000]) {
    for (const last of ["", "z", "é", "€", "\u{1f600}", "\ud83d", "éé", "€€", "\u{1f600}\u{1f600}"]) {
      const fresh = createScan();
      const text = "A".repeat(length) + last;
      setText(fresh, text);
      encode(fresh);
      t.is(fresh.length, text.length);
      t.is(fresh.isAscii, isAscii(text));
      const written = fresh.bytes.toString("latin1", 0, fresh.length);
      if (fresh.isAscii) t.is(written, text);
      else t.is(written, Buffer.from(fold(text), "latin1").toString("latin1"));
    }
  }
});
