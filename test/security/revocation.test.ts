import test from "ava";
import type { ExecutionContext } from "ava";

import { ADMIN, environmentOf, KEY, KINDS, LOG, readingTime, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

/**
 * Starts a service to revoke a right in and one to use it in: on a cluster two processes that share
 * only the engines.
 */
async function start(t: ExecutionContext, kind: "embedded" | "cluster"): Promise<{ here: Service; there: Service }> {
  const environment = environmentOf(kind, temporaryFolder(t));
  const here = await startService(environment);
  t.teardown(() => here.close());
  if (kind === "embedded") return { here, there: here };
  const there = await startService(environment);
  t.teardown(() => there.close());
  return { here, there };
}

const basic = (email: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}`,
});

const REVOKED_WITHIN_MS = 2_000;

for (const kind of KINDS) {
  test(`${kind}: a revoked right gives no access after 2 s, in any process`, async (t) => {
    t.timeout(120_000);
    const { here, there } = await start(t, kind);
    const manage = async (method: string, path: string, body?: object) => {
      const init = { method, headers: { ...basic(ADMIN.email, ADMIN.password), "Content-Type": "application/json" } };
      const response = await fetch(`${here.apiUrl}/manage/1${path}`, {
        ...init,
        ...(body && { body: JSON.stringify(body) }),
      });
      t.true(response.ok, `${method} ${path}: ${response.status}`);
      return response.status === 204 ? null : ((await response.json()) as Record<string, string>);
    };
    const people = ["changed", "unshared", "deleted"].map((name) => ({
      email: `${name}@example.org`,
      password: "first password",
    }));
    for (const person of people) {
      await manage("POST", "/accounts", person);
      await manage("PUT", `/logs/${LOG}/shares/${person.email}`, { role: "user" });
    }
    const disabled = (await manage("POST", `/logs/${LOG}/apiKeys`, { scope: "read-write" }))!;
    const removed = (await manage("POST", `/logs/${LOG}/apiKeys`, { scope: "read-write" }))!;

    const byKey = (apikey: string) => async () => (await fetch(`${there.apiUrl}/1/logs?apikey=${apikey}`)).status;
    const byPerson = (name: string) => async () => {
      const headers = basic(`${name}@example.org`, "first password");
      return (await fetch(`${there.apiUrl}/1/logs/${LOG}`, { headers })).status;
    };
    const share = `/logs/${LOG}/shares/unshared@example.org`;
    const ofKey = ({ id }: Record<string, string>) => `/logs/${LOG}/apiKeys/${id}`;
    const change = { password: "second password" };
    const rights: readonly Right[] = [
      ["a disabled key", byKey(disabled["key"]!), 401, () => manage("PATCH", ofKey(disabled), { disabled: true })],
      ["a removed key", byKey(removed["key"]!), 401, () => manage("DELETE", ofKey(removed))],
      ["an old password", byPerson("changed"), 401, () => manage("PUT", "/accounts/changed@example.org", change)],
      ["a share", byPerson("unshared"), 404, () => manage("DELETE", share)],
      ["an account", byPerson("deleted"), 401, () => manage("DELETE", "/accounts/deleted@example.org")],
    ];
    for (const [what, use, after, revoke] of rights) {
      await until(async () => (await use()) === 200, { what: `${what} to open` });
      await revoke();
      const start_ms = performance.now();
      await until(async () => (await use()) === after, { what: `${what} to open no more` });
      const took_ms = performance.now() - start_ms - 2 * (await readingTime(there));
      t.true(took_ms < REVOKED_WITHIN_MS, `${what} was revoked within ${Math.round(took_ms)} ms`);
      if (kind === "embedded") t.is(await use(), after);
    }
    for (const apikey of [disabled["key"]!, removed["key"]!, KEY]) {
      const body = new URLSearchParams({ apikey, text: "hello" });
      const { status } = await fetch(`${there.postUrl}/1/logs/${LOG}/events`, { method: "POST", body });
      t.is(status, apikey === KEY ? 201 : 401);
    }
  });
}

/** A right: its name, its use, the status once it is revoked, and its revocation. */
type Right = readonly [string, () => Promise<number>, number, () => Promise<unknown>];
