import type { Client } from "../../parts/api/client.ts";
import type { MarkedEvent, Narrowing } from "../../features/marked-events/marked.ts";

/** Acknowledged alerts: their number, and a function that undoes the acknowledgement. */
export type Acknowledgement = { readonly count: number; readonly undo: () => Promise<void> };

/** Acknowledges one alert. @throws ApiFault */
export async function acknowledgeOne(client: Client, { log, id }: MarkedEvent): Promise<Acknowledgement> {
  const path = `/1/logs/${log}/alerts/${id}`;
  const set = async (seen: boolean): Promise<void> => {
    await client.request(path, { method: "PUT", json: { seen } });
  };
  await set(true);
  return { count: 1, undo: () => set(false) };
}

/** Which alerts the list shows. */
export type ShownAlerts = {
  readonly by: Narrowing;
  /** Whether all alerts of the account are loaded. */
  readonly isWhole: boolean;
};

/**
 * Acknowledges all alerts shown. One request covers those up to the newest, so that later ones
 * stay; separate requests are sent if it would also cover alerts of the same log that are not
 * loaded, or alerts of other classes.
 * @throws ApiFault
 */
export async function acknowledgeShown(
  client: Client,
  shown: readonly MarkedEvent[],
  { by, isWhole }: ShownAlerts,
): Promise<Acknowledgement> {
  if (by.class !== null || (by.log !== null && !isWhole)) return acknowledgeEach(client, shown);
  const path = by.log === null ? "/1/logs/alerts" : `/1/logs/${by.log}/alerts`;
  const until = shown.reduce((newest, { id }) => (id > newest ? id : newest), "");
  const { body } = await client.request<{ readonly mark: string; readonly count: number }>(path, {
    method: "PUT",
    json: { seen: true, until },
  });
  return {
    count: body.count,
    undo: async () => {
      await client.request(path, { method: "PUT", json: { seen: false, mark: body.mark } });
    },
  };
}

async function acknowledgeEach(client: Client, shown: readonly MarkedEvent[]): Promise<Acknowledgement> {
  const done: Acknowledgement[] = [];
  const undo = () => allOf(done.map((each) => each.undo()));
  try {
    await allOf(shown.map(async (event) => void done.push(await acknowledgeOne(client, event))));
  } catch (fault) {
    await undo().catch(() => undefined);
    throw fault;
  }
  return { count: done.length, undo };
}

/** Waits for all of them, even if one fails. @throws the first error */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
