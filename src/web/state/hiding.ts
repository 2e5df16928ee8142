import type { App } from "./app.ts";
import { isSameHiding } from "../parts/query/hiding.ts";

/** A person's own options for a class. */
export type ClassOptions = { readonly alert: boolean; readonly notify: boolean; readonly hide: boolean };

/** Reads which classes of a log the reader hides, also from other browsers. @throws ApiFault */
export async function readHiding({ client, preferences }: App, log: string): Promise<void> {
  type OfClass = ClassOptions & { readonly key: string };
  const { body } = await client.request<readonly OfClass[]>(`/manage/1/logs/${log}/classOptions`);
  const hidden = body.flatMap(({ key, hide }) => (hide ? key : []));
  const all = preferences.now.peek().hidden;
  // Searches of the log follow the preferences.
  if (!isSameHiding(all[log] ?? [], hidden)) preferences.change({ hidden: { ...all, [log]: hidden } });
}

/** Hides or shows a class in the reader's lists; alerts and mail stay. @throws ApiFault */
export async function setHidden(app: App, log: string, key: string, hide: boolean): Promise<void> {
  const path = `/manage/1/logs/${log}/classFilters/${key}/options`;
  const { body } = await app.client.request<ClassOptions>(path);
  await app.client.request(path, { method: "PUT", json: { ...body, hide } });
  await readHiding(app, log);
}
