import type { App } from "../app.ts";
import { isSameHiding } from "../ask/hiding.ts";

type Options = { readonly alert: boolean; readonly notify: boolean; readonly hide: boolean };
type OptionsOfClass = Options & { readonly key: string };

/** Reads which classes of a log the reader hides, as chosen here or in another browser. @throws ApiFault */
export async function readHiding(app: App, log: string): Promise<void> {
  const { body } = await app.client.ask<readonly OptionsOfClass[]>(`/manage/1/logs/${log}/classOptions`);
  keepHiding(
    app,
    log,
    body.flatMap(({ key, hide }) => (hide ? key : [])),
  );
}

/** Hides a class of a log from the reader's lists, or no longer. Alerts and mail stay as they are. @throws ApiFault */
export async function setHidden(app: App, log: string, key: string, hide: boolean): Promise<void> {
  const path = `/manage/1/logs/${log}/classFilters/${key}/options`;
  const { body } = await app.client.ask<Options>(path);
  await app.client.ask(path, { method: "PUT", json: { ...body, hide } });
  await readHiding(app, log);
}

/** Searches of the log follow the preferences. */
function keepHiding({ preferences }: App, log: string, hidden: readonly string[]): void {
  const all = preferences.now.peek().hidden;
  if (!isSameHiding(all[log] ?? [], hidden)) preferences.change({ hidden: { ...all, [log]: hidden } });
}
