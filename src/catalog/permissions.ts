import { LoggiaError } from "../errors.ts";
import type { LogKey } from "../events/event.ts";
import { fold } from "../events/text.ts";
import type { Account, Catalog, KeyGrant, Log, Role, Session } from "./catalog.ts";

/**
 * Who may do what, in one place. Functions named `require…` return what the caller then needs, or
 * throw: 401 `unauthorized`, 403 `forbidden`, 404 `log_not_found`. A log that is not the caller's
 * is answered like one that does not exist: its existence is not told.
 */
export type Caller =
  | {
      readonly kind: "account";
      readonly account: Account;
      /** By which the person calls; absent: by e-mail and password. */
      readonly session?: Session;
    }
  | { readonly kind: "key"; readonly grant: KeyGrant };

/** The part of the catalog that decides. */
type Rights = Pick<Catalog, "log" | "logsOf" | "roleOf">;

/** A member of a log: what a person with a share is to it. */
export type Member = { readonly account: Account; readonly log: Log; readonly role: Role };

/**
 * The caller that an API key makes. @param grant as {@link Catalog.apiKey} found it. @throws
 * LoggiaError `unauthorized` where it is unknown or disabled
 */
export function requireKey(grant: KeyGrant | null): Extract<Caller, { kind: "key" }> {
  return { kind: "key", grant: requireEnabled(grant) };
}

/** The log, where the caller may read and query it: members, and keys of that log that read. */
export function requireReadable(rights: Rights, caller: Caller, key: LogKey): Log {
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

/** The log, where the caller may know of it: members, and keys of that log whatever their scope. */
export function requireKnown(rights: Rights, caller: Caller, key: LogKey): Log {
  if (caller.kind === "account") return requireMember(rights, caller, key).log;
  if (caller.grant.log !== key) throw logNotFound(key);
  return requireLog(rights, key);
}

/** The logs that the caller may read, by key: those shared with a person, the one log of a key. */
export function requireReadableLogs(rights: Rights, caller: Caller): readonly Log[] {
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
 * A key of the log that is posted to. Another log's key is 401 as an unknown one is, in the same
 * words.
 */
export function requireKeyOf(grant: KeyGrant | null, key: LogKey | null): KeyGrant {
  if (isKeyOf(grant, key)) return grant;
  throw wrongKey();
}

/** A key that posts. */
export function requirePostingScope(grant: KeyGrant): void {
  if (grant.scope !== "read-only") return;
  throw new LoggiaError("forbidden", "This API key is read-only; posting needs a read-write or write-only one");
}

/** Both of these at once, without saying what is wrong. */
export function mayPost(grant: KeyGrant | null, key: string): grant is KeyGrant {
  return isKeyOf(grant, key) && grant.scope !== "read-only";
}

function isKeyOf(grant: KeyGrant | null, key: string | null): grant is KeyGrant {
  return grant !== null && !grant.disabled && grant.log === key;
}

/** The person who calls. An API key has none: no bookmarks, alerts or management. */
export function requireAccount(caller: Caller): Account {
  if (caller.kind === "account") return caller.account;
  throw new LoggiaError("forbidden", "This call needs a user: call it with e-mail and password, not with an API key");
}

/** A person with whom the log is shared, in either role. */
export function requireMember(rights: Rights, caller: Caller, key: LogKey): Member {
  const account = requireAccount(caller);
  const role = rights.roleOf(account.id, key);
  if (role === null) throw logNotFound(key);
  return { account, log: requireLog(rights, key), role };
}

/** A person with the admin role on the log: deletes events, and manages the log. */
export function requireLogAdmin(rights: Rights, caller: Caller, key: LogKey): Member {
  const member = requireMember(rights, caller, key);
  if (member.role === "admin") return member;
  throw new LoggiaError(
    "forbidden",
    `This call needs the admin role on the log ${key}; ${member.account.email} has the user role`,
  );
}

/** A person who may manage accounts. */
export function requireServiceAdmin(caller: Caller): Account {
  const account = requireAccount(caller);
  if (account.admin) return account;
  throw new LoggiaError("forbidden", "This call needs a service admin");
}

/** A service admin, or the person whose account it is: for changing a password. */
export function requireSelfOrServiceAdmin(caller: Caller, email: string): Account {
  const account = requireAccount(caller);
  return fold(account.email) === fold(email.normalize("NFC")) ? account : requireServiceAdmin(caller);
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

function requireLog(rights: Rights, key: LogKey): Log {
  const log = rights.log(key);
  if (log === null) throw logNotFound(key);
  return log;
}

function logNotFound(key: LogKey): LoggiaError {
  return new LoggiaError("log_not_found", `There is no log ${key}, or it is not shared with you`);
}
