import test from "ava";

import type { Client } from "../../../src/web/parts/api/client.ts";
import { createSession } from "../../../src/web/state/session.ts";

test("a 401 of a request sent before the sign-in does not end the new session", async (t) => {
  const account = { email: "ann@example.org", admin: false, expires: "" };
  const client: Client = {
    request: () => Promise.resolve({ body: account, headers: new Headers(), took_ms: 1 } as never),
    open: () => Promise.resolve(new Response()),
  };
  const session = createSession(() => client);
  await session.open();
  const before_ms = performance.now() - 1;
  session.end(performance.now());
  t.is(session.state.peek(), "ended");
  await session.signIn({ email: "ann@example.org", password: "correct horse" });
  session.end(before_ms);
  t.is(session.state.peek(), "in");
  session.end(performance.now());
  t.is(session.state.peek(), "ended");
});
