import assert from "node:assert/strict";
import { until } from "../support/until.ts";
import { send } from "./http.ts";

type Readiness = { readonly dependencies: Readonly<Record<string, { readonly ok: boolean }>> };

/**
 * Waits until `/health/ready` answers `status` and names exactly `away` as unreachable;
 * `/health/live` must be 200 all the time.
 */
export async function untilReadiness(url: string, status: 200 | 503, away: readonly string[]): Promise<void> {
  let last = "nothing";
  const isAsExpected = async (): Promise<boolean> => {
    const answer = await send({ url: `${url}/health/ready` });
    last = `${answer.status} ${answer.text}`;
    const { dependencies } = JSON.parse(answer.text) as Readiness;
    const named = Object.keys(dependencies).filter((name) => dependencies[name]?.ok === false);
    return answer.status === status && named.toSorted().join() === away.toSorted().join();
  };
  try {
    await until(isAsExpected, { what: `readiness ${status}`, interval_ms: 200 });
  } catch {
    assert.fail(
      `${url}/health/ready does not answer ${status}, unavailable: ${away.join(", ") || "none"}, but ${last}`,
    );
  }
  assert.equal((await send({ url: `${url}/health/live` })).status, 200, "a process without its engines is live");
}
