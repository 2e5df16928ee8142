import { decode, encode } from "@msgpack/msgpack";
import test from "ava";

import { shortValue } from "../../../src/ingest/kit/msgpack-shorten.ts";

test("a text that is shortened is cut between characters", (t) => {
  for (let shift = 0; shift < 5; shift++) {
    const bytes = Buffer.from(encode({ message: `${"x".repeat(shift)}${"\u{1f600}".repeat(300_000)}` }));
    const steps = shortValue(bytes, 3);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    const { message } = decode(step.value.bytes) as { message: string };
    t.true(step.value.isCut);
    t.true(message.length > 100_000 && !message.includes("\ufffd"));
  }
});
