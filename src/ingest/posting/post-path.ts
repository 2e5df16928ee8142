import { LoggiaError } from "../../errors.ts";
import { decodeSegment } from "../../http/segment.ts";

/** Matches the path of a request target, which may include scheme and host, as sent to a proxy. */
export const POST_PATH = /^(?:https?:\/\/[^/?]*)?\/1\/logs\/([^/?]+)\/(events|users)\/?$/;

/** Returns the name of the route of a match of {@link POST_PATH}, as the log has it. */
export function routeName(route: RegExpExecArray | null): string {
  return route === null ? "none" : `/1/logs/{log}/${route[2]}`;
}

/** Returns log key and table of a match. @throws LoggiaError `path_not_found` if there is none */
export function readPath(route: RegExpExecArray | null): { key: string; table: "events" | "users" } {
  const [, key, table] = route ?? [];
  if (key !== undefined) return { key: decodeSegment(key), table: table === "users" ? "users" : "events" };
  throw new LoggiaError(
    "path_not_found",
    "Nothing is served at this path; events are posted to /1/logs/{logkey}/events, users to /1/logs/{logkey}/users",
  );
}
