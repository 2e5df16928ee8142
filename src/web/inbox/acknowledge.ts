import type { App } from "../app.ts";
import type { MarkedEvent, Narrowing } from "../marks/marked.ts";

/** Acknowledges alerts, and knows how to take that back. */
export type Acknowledgement = { readonly count: number; readonly undo: () => Promise<void> };

/** @throws ApiFault */
export async function acknowledgeOne({ client }: App, { log, id }: MarkedEvent): Promise<Acknowledgement> {
  const path = `/1/logs/${log}/alerts/${id}`;
  const set = async (seen: boolean): Promise<void> => {
    await client.ask(path, { method: "PUT", json: { seen } });
  };
  await set(true);
  return { count: 1, undo: () => set(false) };
}

/**
 * Acknowledges all alerts that are shown: those of a class one by one, else in one request all up to
 * the newest one that is shown, so that what arrives meanwhile stays.
 * @throws ApiFault
 */
export async function acknowledgeShown(
  app: App,
  shown: readonly MarkedEvent[],
  by: Narrowing,
): Promise<Acknowledgement> {
  if (by.class !== null) return acknowledgeEach(app, shown);
  const path = by.log === null ? "/1/logs/alerts" : `/1/logs/${by.log}/alerts`;
  const until = shown.reduce((newest, { id }) => (id > newest ? id : newest), "");
  const { body } = await app.client.ask<{ readonly mark: string; readonly count: number }>(path, {
    method: "PUT",
    json: { seen: true, until },
  });
  return {
    count: body.count,
    undo: async () => {
      await app.client.ask(path, { method: "PUT", json: { seen: false, mark: body.mark } });
    },
  };
}

async function acknowledgeEach(app: App, shown: readonly MarkedEvent[]): Promise<Acknowledgement> {
  const done: Acknowledgement[] = [];
  const undo = async (): Promise<void> => {
    for (const each of done) await each.undo();
  };
  try {
    for (const event of shown) done.push(await acknowledgeOne(app, event));
  } catch (fault) {
    await undo().catch(() => undefined);
    throw fault;
  }
  return { count: done.length, undo };
}
