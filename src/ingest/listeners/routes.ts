import { isAmong } from "../../gate/address.ts";
import type { RouteSettings } from "../../settings/listeners.ts";

/** The route of a sender: the first of the setting that fits; null where none does. */
export function routeOf(routes: readonly RouteSettings[], address: string | undefined): RouteSettings | null {
  return routes.find(({ from }) => from === null || isAmong(from, address)) ?? null;
}
