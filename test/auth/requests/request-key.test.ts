import test from "ava";

import { keyInRequest, unreadKeyHeader } from "../../../src/auth/requests/request-key.ts";

const SECRET = "some secret key";

test("a header that holds a key is named, and its key is not", (t) => {
  for (const [headers, name] of [
    [{ "x-api-key": SECRET }, "x-api-key"],
    [{ "dd-api-key": SECRET }, "dd-api-key"],
    [{ authorization: `apikey ${SECRET}` }, "Authorization with the scheme ApiKey"],
    [{ authorization: `BEARER ${SECRET}` }, "Authorization with the scheme Bearer"],
    [{ authorization: `Splunk ${SECRET}` }, "Authorization with the scheme Splunk"],
  ] as const) {
    t.is(unreadKeyHeader(headers), name);
    t.is(keyInRequest(undefined, new URLSearchParams(), headers), SECRET, "posting reads it");
  }
});

test("headers without a key are not named, nor is a key without a scheme", (t) => {
  for (const headers of [
    {},
    { "x-api-key": "" },
    { authorization: SECRET.replaceAll(" ", "-") },
    { authorization: `secret ${SECRET}` },
    { authorization: "Basic YW5uOmI=" },
  ]) {
    t.is(unreadKeyHeader(headers), null);
  }
});
