import { LoggiaError } from "../errors.ts";
import type { LogKey, UserId } from "../events/event.ts";
import { foldEmail } from "./credential-checks.ts";
import type { Account, KeyGrant, LogRole, Session } from "./principals.ts";

/**
 * The caller of a request. This module alone decides who may do what. Functions named `require…`
 * return what the caller needs, or throw 401 `unauthorized`, 403 `forbidden` or 404
 * `log_not_found`. A log that the caller may not know is answered like a missing one.
 */
export type Caller =
  | {
      readonly kind: "account";
      readonly account: Account;
      /** The session that authenticated the request; absent for e-mail and password. */
      readonly session?: Session;
    }
  | { readonly kind: "key"; readonly grant: KeyGrant };

/** The part of the catalog that permissions depend on. */
export type Rights<Log> = {
  log(key: LogKey): Log | null;
  /** Logs shared with an account. */
  logsOf(user: UserId): readonly Log[];
  roleOf(user: UserId, log: LogKey): LogRole | null;
};

/** An account with a share of a log, and its role. */
export type Member<Log> = { readonly account: Account; readonly log: Log; readonly role: LogRole };

/**
 * Returns the caller of an API key. @param grant result of a look-up by its secret. @throws
 * LoggiaError `unauthorized` if it is unknown or disabled
 */
export function requireKey(grant: KeyGrant | null): Extract<Caller, { kind: "key" }> {
  return { kind: "key", grant: requireEnabled(grant) };
}

/** Returns a log that the caller may read and query: members, and its keys with a reading scope. */
export function requireReadable<Log>(rights: Rights<Log>, caller: Caller, key: LogKey): Log {
  switch (caller.kind) {
    case "account":
      return requireMember(rights, caller, key).log;
    case "key":
      if (caller.grant.log !== key) throw logNotFound(key);
      requireReadingScope(caller.grant);
      return requireLog(rights, key);
    default:
      return caller satisfies never;
  }
}

/** Returns a log whose existence the caller may know: members, and its keys of any scope. */
export function requireVisible<Log>(rights: Rights<Log>, caller: Caller, key: LogKey): Log {
  if (caller.kind === "account") return requireMember(rights, caller, key).log;
  if (caller.grant.log !== key) throw logNotFound(key);
  return requireLog(rights, key);
}

/** Returns the logs that the caller may read: those shared with the account, or the key's log. */
export function requireReadableLogs<Log>(rights: Rights<Log>, caller: Caller): readonly Log[] {
  switch (caller.kind) {
    case "account":
      return rights.logsOf(caller.account.id);
    case "key":
      return [requireReadable(rights, caller, caller.grant.log)];
    default:
      return caller satisfies never;
  }
}

/**
 * Returns the grant if the key belongs to the log that is posted to. Another log's key gives the
 * same 401 as an unknown one.
 */
export function requireKeyForLog(grant: KeyGrant | null, key: LogKey | null): KeyGrant {
  if (isKeyForLog(grant, key)) return grant;
  throw wrongKey();
}

/** Throws unless the key may post. */
export function requirePostingScope(grant: KeyGrant): void {
  if (grant.scope !== "read-only") return;
  throw new LoggiaError("forbidden", "This API key is read-only; posting needs a read-write or write-only one");
}

/** Combines the two checks above, without saying which one failed. */
export function mayPost(grant: KeyGrant | null, key: string): grant is KeyGrant {
  return isKeyForLog(grant, key) && grant.scope !== "read-only";
}

function isKeyForLog(grant: KeyGrant | null, key: string | null): grant is KeyGrant {
  return grant !== null && !grant.disabled && grant.log === key;
}

/** Returns the caller's account. API keys have none: no bookmarks, alerts or management. */
export function requireAccount(caller: Caller): Account {
  if (caller.kind === "account") return caller.account;
  throw new LoggiaError("forbidden", "This call needs a user: call it with e-mail and password, not with an API key");
}

/** Returns the caller as a member of the log, in either role. */
export function requireMember<Log>(rights: Rights<Log>, caller: Caller, key: LogKey): Member<Log> {
  const account = requireAccount(caller);
  const role = rights.roleOf(account.id, key);
  if (role === null) throw logNotFound(key);
  return { account, log: requireLog(rights, key), role };
}

/** Returns the caller as an admin of the log, who may delete events and manage it. */
export function requireLogAdmin<Log>(rights: Rights<Log>, caller: Caller, key: LogKey): Member<Log> {
  const member = requireMember(rights, caller, key);
  if (member.role === "admin") return member;
  throw new LoggiaError(
    "forbidden",
    `This call needs the admin role on the log ${key}; ${member.account.email} has the user role`,
  );
}

/** Returns the caller's account if it may manage accounts. */
export function requireServiceAdmin(caller: Caller): Account {
  const account = requireAccount(caller);
  if (account.admin) return account;
  throw new LoggiaError("forbidden", "This call needs a service admin");
}

/** For changing a password: the account itself, or a service admin. */
export function requireSelfOrServiceAdmin(caller: Caller, email: string): Account {
  const account = requireAccount(caller);
  return foldEmail(account.email) === foldEmail(email) ? account : requireServiceAdmin(caller);
}

function requireEnabled(grant: KeyGrant | null): KeyGrant {
  if (grant !== null && !grant.disabled) return grant;
  throw wrongKey();
}

function wrongKey(): LoggiaError {
  return new LoggiaError("unauthorized", "The API key is unknown, disabled, or not one of this log");
}

function requireReadingScope(grant: KeyGrant): void {
  if (grant.scope !== "write-only") return;
  throw new LoggiaError("forbidden", "This API key is write-only; reading needs a read-write or read-only one");
}

function requireLog<Log>(rights: Rights<Log>, key: LogKey): Log {
  const log = rights.log(key);
  if (log === null) throw logNotFound(key);
  return log;
}

function logNotFound(key: LogKey): LoggiaError {
  return new LoggiaError("log_not_found", `There is no log ${key}, or it is not shared with you`);
}
