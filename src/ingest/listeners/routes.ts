import { isAmong } from "../../ratelimit/address.ts";
import type { RouteSettings } from "../../settings/listeners.ts";

/** Whether a route takes what this sender sends. The first that does, in their order, counts. */
export function isRouteOf({ from }: RouteSettings, address: string | undefined): boolean {
  return from === null || isAmong(from, address);
}
