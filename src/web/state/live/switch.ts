import type { App } from "../app.ts";
import type { Search } from "../search.ts";

export function isLive({ location }: App): boolean {
  return location.place.value.parameters.get("live") === "1";
}

/** Turns the tail on or off. Once off, the list shows a run up to now again. */
export function switchLive(app: App, search: Search, isOn: boolean): void {
  const parameters = new Map(app.location.place.peek().parameters);
  if (isOn) parameters.set("live", "1");
  else parameters.delete("live");
  app.location.go({ parameters });
  if (!isOn) search.start();
}
