import test from "ava";
import { restAfter } from "../../src/bus/rest.ts";

const QUIET = { worked_ms: 20, busy: 0.3, behind_ms: 25 };

test("a handler rests twice as long as it worked, and not for long", (t) => {
  t.is(restAfter(QUIET), 40);
  t.is(restAfter({ ...QUIET, worked_ms: 1_000 }), 300);
  t.is(restAfter({ ...QUIET, behind_ms: 60_000 }), 40, "however far it is behind");
});

test("where producers keep the thread busy it rests longer, until readers have waited for some seconds", (t) => {
  const burst = { ...QUIET, busy: 0.9 };
  t.is(restAfter(burst), 200);
  t.is(restAfter({ ...burst, worked_ms: 1_000 }), 2_000);
  t.is(restAfter({ ...burst, behind_ms: 4_999 }), 200);
  t.is(restAfter({ ...burst, behind_ms: 5_000 }), 40);
});
