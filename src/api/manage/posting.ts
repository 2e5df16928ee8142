import { requireAccount } from "../../catalog/permissions.ts";
import type { Route } from "../../http/route.ts";
import type { Context } from "../context.ts";
import { managed, ok } from "./json.ts";

/** Returns the address for producers, for users to copy into programs. */
export function postingRoute(context: Context): Route {
  return managed(context, "GET", "/posting", ({ caller }) => {
    requireAccount(caller);
    return ok(context.posting());
  });
}
