import test from "ava";

import { ADMIN, AUTHORIZATION, environmentOf, LOG, serviceOf, startService } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";

/** Bounds of the ratio of two medians. */
type Bounds = { readonly above: number; readonly below: number };

/**
 * Times two kinds of requests alternately, so that other load affects both, and returns the ratio
 * of their medians. While it is out of bounds, it adds the same number of rounds, at most three
 * times: a systematic difference stays, a random one does not.
 */
async function compare(
  rounds: number,
  { above, below }: Bounds,
  first: (i: number) => Promise<number>,
  second: (i: number) => Promise<number>,
): Promise<number> {
  const times: [number[], number[]] = [[], []];
  const median = (of: number[]): number => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!;
  const inTurn = [
    [0, first],
    [1, second],
  ] as const;
  for (let i = 0; ; i++) {
    for (const [k, ask] of i % 2 === 0 ? inTurn : inTurn.toReversed()) times[k].push(await ask(i));
    if ((i + 1) % rounds !== 0) continue;
    const ratio = median(times[0]) / median(times[1]);
    if ((ratio > above && ratio < below) || i + 1 === 4 * rounds) return ratio;
  }
}

test("an unknown e-mail address takes as long as a wrong password", async (t) => {
  const service = await startService({
    ...environmentOf("embedded", temporaryFolder(t)),
    LOGGIA_RATE_FAILURES: "1000",
  });
  t.teardown(() => service.close());
  const ask = async (email: string, password: string): Promise<number> => {
    const headers = { Authorization: `Basic ${Buffer.from(`${email}:${password}`).toString("base64")}` };
    const start_ms = performance.now();
    const response = await fetch(`${service.apiUrl}/1/logs`, { headers });
    const text = await response.text();
    const took_ms = performance.now() - start_ms;
    t.is(response.status, 401);
    t.true(text.includes("E-mail or password is wrong."));
    return took_ms;
  };
  const bounds = { above: 0.6, below: 1.6 };
  const ratio = await compare(
    15,
    bounds,
    (i) => ask(ADMIN.email, `guess ${i}`),
    (i) => ask(`nobody-${i}@example.org`, `guess ${i}`),
  );
  t.true(ratio > bounds.above && ratio < bounds.below, `wrong password / unknown e-mail = ${ratio}`);
});

test("another tenant's log takes as long as a missing one", async (t) => {
  const service = await serviceOf(t, "embedded");
  const { catalog } = service.ports;
  const stranger = await catalog.createAccount({ email: "eve@example.org", password: "password of eve", admin: false });
  const other = uniqueName("hidden");
  await catalog.createLog({ key: other as never, display: "Hidden", owner: stranger.id });
  const ask = async (log: string): Promise<number> => {
    const start_ms = performance.now();
    const response = await fetch(`${service.apiUrl}/1/logs/${log}/events`, {
      headers: { Authorization: AUTHORIZATION },
    });
    await response.text();
    const took_ms = performance.now() - start_ms;
    t.is(response.status, log === LOG ? 200 : 404);
    return took_ms;
  };
  await ask(LOG);
  const nobodys = other.replace("hidden", "absent");
  const bounds = { above: 0.5, below: 2 };
  const ratio = await compare(
    100,
    bounds,
    () => ask(other),
    () => ask(nobodys),
  );
  t.true(ratio > bounds.above && ratio < bounds.below, `another's / nobody's = ${ratio}`);
});
