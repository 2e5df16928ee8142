import { isUtf8 } from "node:buffer";
import test from "ava";
import fc from "fast-check";

import { messageText } from "../../../src/ingest/kit/message-text.ts";

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

test("valid UTF-8 stays, and each bad sequence beside it becomes U+FFFD", (t) => {
  const text = "Größe überschritten €";
  t.is(messageText(Buffer.from(text)), text);
  t.is(messageText(Buffer.from(text).subarray(0, -1)), "Größe überschritten \ufffd");
  t.is(
    messageText(Buffer.concat([Buffer.from("Größe "), latin1("caf\xe9 "), Buffer.from("日本")])),
    "Größe caf\ufffd 日本",
  );
  t.is(messageText(Buffer.concat([Buffer.from("日本語😀").subarray(1)])), "\ufffd\ufffd本語😀");
  t.is(messageText(Buffer.from("a 😀").subarray(0, -1)), "a \ufffd");
  t.is(messageText(Buffer.concat([Buffer.from("a \ufffd "), latin1("\xe9")])), "a \ufffd \ufffd");
  t.is(messageText(Buffer.from("a \ufffd")), "a \ufffd");
});

test("a message without a character of UTF-8 beyond ASCII is Latin-1", (t) => {
  t.is(messageText(latin1("caf\xe9")), "café");
  t.is(messageText(latin1("caf\xe9 ouvert")), "café ouvert");
  t.is(messageText(latin1("Gr\xf6\xdfe caf\xe9")), "Größe café");
  t.is(messageText(latin1("")), "");
});

test("a character that is cut at the end of an ASCII message is one U+FFFD", (t) => {
  t.is(messageText(Buffer.from("5 €").subarray(0, -1)), "5 \ufffd");
  t.is(messageText(Buffer.from("5 😀").subarray(0, -1)), "5 \ufffd");
  t.is(messageText(Buffer.from("5 😀").subarray(0, -2)), "5 \ufffd");
  t.is(messageText(Buffer.from("5 €").subarray(0, -2)), "5 â", "a single byte may be a letter");
  t.is(messageText(Buffer.from("5 €").subarray(0, -2), true), "5 \ufffd", "unless it is known to be cut");
  t.is(messageText(latin1("caf\xe9 \xe2\x82")), "café â\x82");
});

test("of any text that is cut anywhere, what is before the cut stays", (t) => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(), (text, at) => {
      const whole = Buffer.from(`é${text.toWellFormed()}`);
      const part = whole.subarray(0, 2 + (at % (whole.length - 1)));
      const read = messageText(part);
      const isWhole = isUtf8(part);
      t.is(read.endsWith("\ufffd") && !isWhole, !isWhole);
      t.true(whole.toString("utf8").startsWith(isWhole ? read : read.slice(0, -1)));
    }),
  );
});
