import {
  requireAccount,
  requireLogAdmin,
  requireMember,
  requireReadable,
  requireReadableLogs,
  requireSelfOrServiceAdmin,
  requireServiceAdmin,
  requireVisible,
} from "../permissions.ts";
import type { ErrorCode } from "../../errors.ts";
import { logKeyOf } from "../../api/context.ts";
import type { ApiCall, Context } from "../../api/context.ts";

/** Returns what a route may use for its caller. @throws LoggiaError of the permission it lacks */
type Grant = (rights: Pick<Context, "catalog">, call: ApiCall) => unknown;

/** The check of each kind of access that depends on the authenticated caller. */
const GRANTS = {
  caller: () => null,
  account: (_, { caller }) => requireAccount(caller),
  reader: ({ catalog }, { caller }) => requireReadableLogs(catalog, caller),
  "service admin": (_, { caller }) => requireServiceAdmin(caller),
  "own account or service admin": (_, { caller, params }) => requireSelfOrServiceAdmin(caller, params["email"] ?? ""),
  "log caller": ({ catalog }, call) => requireVisible(catalog, call.caller, logKeyOf(call)),
  "log reader": ({ catalog }, call) => requireReadable(catalog, call.caller, logKeyOf(call)),
  "log member": ({ catalog }, call) => requireMember(catalog, call.caller, logKeyOf(call)),
  "log admin": ({ catalog }, call) => requireLogAdmin(catalog, call.caller, logKeyOf(call)),
} as const satisfies Record<string, Grant>;

/** Access that {@link GRANTS} checks, after HTTP Basic, a session, a ticket or an API key. */
export type Granted = keyof typeof GRANTS;

/** Who may call a route. */
export type Who = Granted | "anyone" | "session" | "posting key";

/** What a route receives as `access`. */
export type Access<W extends Granted> = ReturnType<(typeof GRANTS)[W]>;

/** Checks the access of an authenticated caller. @throws LoggiaError of the permission it lacks */
export function grantAccess<W extends Granted>(who: W, context: Context, call: ApiCall): Access<W> {
  const grant: Grant = GRANTS[who];
  return grant(context, call) as Access<W>;
}

export type Credentials = "none" | "session" | "account" | "account or key" | "posting key";

/** A kind of access, for the OpenAPI document and the table of endpoints. */
export type AccessRule = {
  readonly credentials: Credentials;
  /** Who that is, for readers of the table. */
  readonly summary: string;
  /** Errors of this check besides those of its credentials. */
  readonly errors: readonly ErrorCode[];
};

const ofLog = { errors: ["log_not_found"] } as const;
const anywhere = { errors: [] } as const;

export const ACCESS_RULES: Readonly<Record<Who, AccessRule>> = {
  anyone: { ...anywhere, credentials: "none", summary: "Anyone, without credentials" },
  session: { ...anywhere, credentials: "session", summary: "The session of the request's own cookie" },
  caller: { ...anywhere, credentials: "account or key", summary: "An account, or an API key of any scope" },
  account: { ...anywhere, credentials: "account", summary: "An account" },
  reader: { ...anywhere, credentials: "account or key", summary: "An account, or an API key that reads" },
  "service admin": { ...anywhere, credentials: "account", summary: "A service admin" },
  "own account or service admin": {
    ...anywhere,
    credentials: "account",
    summary: "The account in the path, or a service admin",
  },
  "log caller": {
    ...ofLog,
    credentials: "account or key",
    summary: "A member of the log, or its API key of any scope",
  },
  "log reader": { ...ofLog, credentials: "account or key", summary: "A member of the log, or its API key that reads" },
  "log member": { ...ofLog, credentials: "account", summary: "A member of the log" },
  "log admin": { ...ofLog, credentials: "account", summary: "An admin of the log" },
  "posting key": { ...anywhere, credentials: "posting key", summary: "The log's API key that writes" },
};
