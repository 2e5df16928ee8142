import test from "ava";

import { errorStatus, LoggiaError, STATUS_OF_CODE } from "../src/errors.ts";
import type { ErrorCode } from "../src/errors.ts";

test("errors of status 429 and 503 alone ask for a retry", (t) => {
  for (const code of Object.keys(STATUS_OF_CODE) as ErrorCode[]) {
    const error = new LoggiaError(code, "");
    const isTransient = [429, 503].includes(errorStatus(error));
    t.is(error.retryAfter_s, isTransient ? 1 : null, code);
  }
  t.is(new LoggiaError("overloaded", "", { retryAfter_s: 7 }).retryAfter_s, 7);
});
