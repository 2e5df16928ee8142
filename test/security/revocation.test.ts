import test from "ava";
import type { ExecutionContext } from "ava";
import { setTimeout as sleep } from "node:timers/promises";

import { KINDS } from "../support/engine-kinds.ts";
import { ADMIN, environmentOf, KEY, LOG, readingTime, startService } from "../support/service.ts";
import type { Service } from "../support/service.ts";
import { Stopwatch } from "../support/stopwatch.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";
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
/** A read of changes that takes longer is delayed by the machine. */
const READ_MS = 100;

/** Repeatedly reads changes, to observe when the engine is late. */
function observe({ ports: { catalog } }: Service): AsyncDisposable & { readonly isLate: () => boolean } {
  let began_ms = Infinity;
  const over = new AbortController();
  const observing = (async () => {
    while (!over.signal.aborted) {
      began_ms = performance.now();
      await catalog.refresh().catch(() => {});
      began_ms = Infinity;
      await sleep(READ_MS);
    }
  })();
  return {
    isLate: () => performance.now() - began_ms > READ_MS,
    async [Symbol.asyncDispose]() {
      over.abort();
      await observing;
    },
  };
}

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
    const keys: string[] = [];
    const byKey = (apikey: string) => async () => (await fetch(`${there.apiUrl}/1/logs?apikey=${apikey}`)).status;
    const makeKey = async (): Promise<{ path: string; use: Use }> => {
      const made = (await manage("POST", `/logs/${LOG}/apiKeys`, { scope: "read-write" }))!;
      const key = made["key"]!;
      keys.push(key);
      return { path: `/logs/${LOG}/apiKeys/${made["id"]}`, use: byKey(key) };
    };
    const makePerson = async (): Promise<{ account: string; share: string; use: Use }> => {
      const email = `${uniqueName("person")}@example.org`;
      const password = "first password";
      await manage("POST", "/accounts", { email, password });
      const share = `/logs/${LOG}/shares/${email}`;
      await manage("PUT", share, { role: "user" });
      const use = async () =>
        (await fetch(`${there.apiUrl}/1/logs/${LOG}`, { headers: basic(email, password) })).status;
      return { account: `/accounts/${email}`, share, use };
    };
    const rights: Readonly<Record<string, () => Promise<Right>>> = {
      "a disabled key": async () => {
        const { path, use } = await makeKey();
        return { use, after: 401, revoke: () => manage("PATCH", path, { disabled: true }) };
      },
      "a removed key": async () => {
        const { path, use } = await makeKey();
        return { use, after: 401, revoke: () => manage("DELETE", path) };
      },
      "an old password": async () => {
        const { account, use } = await makePerson();
        return { use, after: 401, revoke: () => manage("PUT", account, { password: "second password" }) };
      },
      "a share": async () => {
        const { share, use } = await makePerson();
        return { use, after: 404, revoke: () => manage("DELETE", share) };
      },
      "an account": async () => {
        const { account, use } = await makePerson();
        return { use, after: 401, revoke: () => manage("DELETE", account) };
      },
    };
    const revokedAfter_ms = async (what: string, { use, after, revoke }: Right): Promise<number> => {
      await until(async () => (await use()) === 200, { what: `${what} to open` });
      await revoke();
      if (kind === "embedded") {
        t.is(await use(), after, `${what} at once in the process itself`);
        return 0;
      }
      // The other process reads the same engine, but makes nothing visible in this one.
      await using observer = observe(here);
      const stopwatch = new Stopwatch(observer.isLate);
      const isOver = async () => {
        stopwatch.step();
        return (await use()) === after;
      };
      await until(isOver, { what: `${what} to open no more` });
      return stopwatch.time_ms - 2 * (await readingTime(there));
    };
    for (const [what, make] of Object.entries(rights)) {
      const took_ms = await revokedAfter_ms(what, await make());
      t.true(took_ms < REVOKED_WITHIN_MS, `${what} was revoked within ${Math.round(took_ms)} ms`);
    }
    t.true(keys.length >= 2);
    for (const apikey of [...keys, KEY]) {
      const body = new URLSearchParams({ apikey, text: "hello" });
      const { status } = await fetch(`${there.postUrl}/1/logs/${LOG}/events`, { method: "POST", body });
      t.is(status, apikey === KEY ? 201 : 401);
    }
  });
}

type Use = () => Promise<number>;

/** A right: its use, the status once it is revoked, and its revocation. */
type Right = { readonly use: Use; readonly after: number; readonly revoke: () => Promise<unknown> };
