import { isAmong } from "../../ratelimit/address.ts";
import type { RouteSettings } from "../../settings/listeners.ts";

/** Returns whether a route accepts this sender. The first matching route applies. */
export function acceptsSender({ from }: RouteSettings, address: string | undefined): boolean {
  return from === null || isAmong(from, address);
}
