import test from "ava";

import { ADMIN, AUTHORIZATION, environmentOf, LOG, serviceOf, startService } from "../support/service.ts";
import { temporaryFolder, uniqueName } from "../support/temporary.ts";

/** Times two kinds of requests in turns, so that whatever else the machine does meets both. Gives the ratio of their medians. */
async function compare(rounds: number, first: (i: number) => Promise<number>, second: (i: number) => Promise<number>) {
  const times: [number[], number[]] = [[], []];
  for (let i = 0; i < rounds; i++) {
    for (const [k, ask] of i % 2 === 0
      ? ([
          [0, first],
          [1, second],
        ] as const)
      : ([
          [1, second],
          [0, first],
        ] as const)) {
      times[k].push(await ask(i));
    }
  }
  const median = (of: number[]) => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!;
  return median(times[0]) / median(times[1]);
}

test("an e-mail that nobody has takes as long as a wrong password", async (t) => {
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
  const ratio = await compare(
    15,
    (i) => ask(ADMIN.email, `guess ${i}`),
    (i) => ask(`nobody-${i}@example.org`, `guess ${i}`),
  );
  t.true(ratio > 0.6 && ratio < 1.6, `wrong password / unknown e-mail = ${ratio}`);
});

test("another's log takes as long as one that nobody has", async (t) => {
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
  const ratio = await compare(
    100,
    () => ask(other),
    () => ask(nobodys),
  );
  t.true(ratio > 0.5 && ratio < 2, `another's / nobody's = ${ratio}`);
});
