import { LoggiaError } from "../../errors.ts";
import type { ErrorCode } from "../../errors.ts";
import { parseLogKey } from "../../events/event.ts";
import type { LogKey } from "../../events/event.ts";
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
import type { Caller, Member, Rights } from "../permissions.ts";
import type { Account } from "../principals.ts";

/**
 * What a route receives as `access`, by the access that it declares. The caller is authenticated
 * first: by HTTP Basic, a session, a ticket or an API key.
 */
export type Grants<Log> = {
  caller: null;
  account: Account;
  reader: readonly Log[];
  "service admin": Account;
  "own account or service admin": Account;
  "log caller": Log;
  "log reader": Log;
  "log member": Member<Log>;
  "log admin": Member<Log>;
};

/** Access that depends on the authenticated caller. */
export type Granted = keyof Grants<unknown>;

/** Who may call a route. */
export type Who = Granted | "anyone" | "session" | "posting key";

/** An authenticated call, with the parameters of its path. */
type Asked = { readonly caller: Caller; readonly params: Readonly<Record<string, string>> };

/** The check of each kind of access. */
const GRANTS: { readonly [W in Granted]: <Log>(rights: Rights<Log>, asked: Asked) => Grants<Log>[W] } = {
  caller: () => null,
  account: (_, { caller }) => requireAccount(caller),
  reader: (rights, { caller }) => requireReadableLogs(rights, caller),
  "service admin": (_, { caller }) => requireServiceAdmin(caller),
  "own account or service admin": (_, { caller, params }) => requireSelfOrServiceAdmin(caller, params["email"] ?? ""),
  "log caller": (rights, asked) => requireVisible(rights, asked.caller, logInPath(asked)),
  "log reader": (rights, asked) => requireReadable(rights, asked.caller, logInPath(asked)),
  "log member": (rights, asked) => requireMember(rights, asked.caller, logInPath(asked)),
  "log admin": (rights, asked) => requireLogAdmin(rights, asked.caller, logInPath(asked)),
};

/** Checks the access of an authenticated caller. @throws LoggiaError of the permission it lacks */
export function grantAccess<W extends Granted, Log>(who: W, rights: Rights<Log>, asked: Asked): Grants<Log>[W] {
  return GRANTS[who](rights, asked);
}

function logInPath({ params }: Asked): LogKey {
  const key = parseLogKey(params["log"] ?? "");
  if (key !== null) return key;
  throw new LoggiaError(
    "log_not_found",
    "There is no such log: keys are letters a to z, digits and hyphens, at most 63",
  );
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
