import test from "ava";

import { delayAfter } from "../../../../src/web/parts/api/back-off.ts";

test("the delay doubles with each failure up to 30 s, and is never shorter than the service asks", (t) => {
  t.deepEqual(
    [1, 2, 3, 4, 5, 6, 60, 2_000].map((failures) => delayAfter(failures, null)),
    [1, 2, 4, 8, 16, 30, 30, 30],
  );
  t.is(delayAfter(1, 4), 4);
  t.is(delayAfter(6, 4), 30);
  t.is(delayAfter(1, 120), 120);
});
