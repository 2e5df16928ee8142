import test from "ava";

import { ApiFault } from "../../../../src/web/parts/api/client.ts";
import type { RequestOptions, Client } from "../../../../src/web/parts/api/client.ts";
import { acknowledgeShown } from "../../../../src/web/screens/inbox/acknowledge.ts";
import type { MarkedEvent } from "../../../../src/web/features/marked-events/marked.ts";
import { rowOf } from "../../support/rows.ts";

const SHOWN: readonly MarkedEvent[] = [3, 2, 1].map((number) => ({ ...rowOf(number), log: "shop" }));

/** A service that stores which alerts are seen, and refuses the given one. */
function service(refused?: string) {
  const requests: string[] = [];
  const seen = new Set<string>();
  const request = async (path: string, { json }: RequestOptions = {}) => {
    requests.push(`${path} ${JSON.stringify(json)}`);
    const id = path.split("/alerts/")[1];
    const isSeen = (json as { seen: boolean }).seen;
    if (id === undefined) return { body: { mark: "m-1", count: 3 } };
    if (id === refused) throw new ApiFault({ status: 503, code: "busy", message: "Busy", retryAfter_s: null });
    if (isSeen) seen.add(id);
    else seen.delete(id);
    return { body: null };
  };
  return { requests, seen, client: { request } as unknown as Client };
}

test("all shown alerts are acknowledged in one request up to the newest, and undone by its mark", async (t) => {
  const { client, requests } = service();
  const { count, undo } = await acknowledgeShown(client, SHOWN, { by: { log: null, class: null }, isWhole: false });
  await undo();
  t.is(count, 3);
  t.deepEqual(requests, [
    `/1/logs/alerts {"seen":true,"until":"${SHOWN[0]!.id}"}`,
    '/1/logs/alerts {"seen":false,"mark":"m-1"}',
  ]);
});

test("alerts of a log that are not loaded stay", async (t) => {
  const { client, requests, seen } = service();
  const narrowed = { by: { log: "shop", class: null }, isWhole: false };
  const { count, undo } = await acknowledgeShown(client, SHOWN, narrowed);
  t.is(count, 3);
  t.deepEqual(
    requests,
    SHOWN.map(({ id }) => `/1/logs/shop/alerts/${id} {"seen":true}`),
  );
  await undo();
  t.deepEqual([...seen], []);
  const whole = service();
  await acknowledgeShown(whole.client, SHOWN, { ...narrowed, isWhole: true });
  t.deepEqual(whole.requests, [`/1/logs/shop/alerts {"seen":true,"until":"${SHOWN[0]!.id}"}`]);
});

test("alerts of a class are acknowledged together or not at all", async (t) => {
  const { client, seen } = service(SHOWN[1]!.id);
  const narrowed = { by: { log: null, class: "error" }, isWhole: true };
  await t.throwsAsync(acknowledgeShown(client, SHOWN, narrowed), { message: "Busy" });
  t.deepEqual([...seen], []);
});
