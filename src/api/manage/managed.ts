import type { Granted } from "../../auth/requests/access.ts";
import { defineRoute } from "../define-route.ts";
import type { ApiEndpoint, RouteDefinition } from "../define-route.ts";

type ManagedDefinition<W extends Granted, Input> = Omit<RouteDefinition<W, Input>, "tag" | "formats" | "onlyJson">;

/** Defines a route of the management API: JSON only, with a body that never holds credentials. */
export function managed<const W extends Granted, Input>(route: ManagedDefinition<W, Input>): ApiEndpoint {
  return defineRoute<W, Input>({ ...route, tag: "management", formats: "json", onlyJson: true });
}
