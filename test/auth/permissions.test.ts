import type { ExecutionContext } from "ava";
import test from "ava";

import type { Account, KeyGrant, LogRole, Scope } from "../../src/auth/principals.ts";
import type { Log } from "../../src/catalog/catalog.ts";
import type { Caller } from "../../src/auth/permissions.ts";
import {
  mayPost,
  requireAccount,
  requireKey,
  requireKeyForLog,
  requireLogAdmin,
  requireMember,
  requirePostingScope,
  requireReadable,
  requireReadableLogs,
  requireSelfOrServiceAdmin,
  requireServiceAdmin,
} from "../../src/auth/permissions.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { LoggiaError } from "../../src/errors.ts";
import type { LogKey, UserId } from "../../src/events/event.ts";
import { parseLogKey } from "../../src/events/event.ts";

const SHOP = parseLogKey("shop")!;
const OTHER = parseLogKey("other")!;
const ABSENT = parseLogKey("absent")!;

const admin = accountOf("1", "admin@example.org");
const user = accountOf("2", "user@example.org");
const service = { ...accountOf("3", "service@example.org"), admin: true };

const shop = logOf(SHOP, { [admin.id]: "admin", [user.id]: "user" });
const other = logOf(OTHER, {});
const rights = {
  log: (key: LogKey) => [shop, other].find((log) => log.key === key) ?? null,
  logsOf: (id: UserId) => [shop, other].filter((log) => log.shares.some((share) => share.user === id)),
  roleOf: (id: UserId, key: LogKey) => rights.log(key)?.shares.find((share) => share.user === id)?.role ?? null,
};

test("an account reads the logs shared with it, and others do not exist for it", (t) => {
  for (const account of [admin, user]) {
    t.is(requireReadable(rights, person(account), SHOP), shop);
    t.deepEqual(requireReadableLogs(rights, person(account)), [shop]);
    refused(t, "log_not_found", () => requireReadable(rights, person(account), OTHER));
  }
  refused(t, "log_not_found", () => requireReadable(rights, person(service), SHOP));
  t.deepEqual(requireReadableLogs(rights, person(service)), []);
  const messageOf = (key: LogKey) => t.throws(() => requireReadable(rights, person(user), key)).message;
  t.is(
    messageOf(OTHER).replace("other", ""),
    messageOf(ABSENT).replace("absent", ""),
    "foreign and absent look the same",
  );
});

test("a key reads its own log if its scope allows it", (t) => {
  for (const scope of ["read-write", "read-only"] as const) {
    t.is(requireReadable(rights, key(scope), SHOP), shop);
    t.deepEqual(requireReadableLogs(rights, key(scope)), [shop]);
    refused(t, "log_not_found", () => requireReadable(rights, key(scope), OTHER));
  }
  refused(t, "forbidden", () => requireReadable(rights, key("write-only"), SHOP));
  refused(t, "log_not_found", () => requireReadable(rights, key("write-only"), OTHER));
  refused(t, "forbidden", () => requireReadableLogs(rights, key("write-only")));
});

test("an unknown or disabled key is no caller", (t) => {
  t.deepEqual(requireKey(grantOf("read-only")), key("read-only"));
  refused(t, "unauthorized", () => requireKey(null));
  refused(t, "unauthorized", () => requireKey({ ...grantOf("read-write"), disabled: true }));
});

test("a key posts to its own log if its scope allows it", (t) => {
  const requireWritable = (grant: KeyGrant | null, log: LogKey): KeyGrant => {
    const own = requireKeyForLog(grant, log);
    requirePostingScope(own);
    return own;
  };
  for (const scope of ["read-write", "write-only"] as const) {
    t.is(requireWritable(grantOf(scope), SHOP).scope, scope);
    refused(t, "unauthorized", () => requireWritable(grantOf(scope), OTHER));
    refused(t, "unauthorized", () => requireWritable({ ...grantOf(scope), disabled: true }, SHOP));
    t.deepEqual(
      [grantOf(scope), { ...grantOf(scope), disabled: true }].map((grant) => mayPost(grant, SHOP)),
      [true, false],
    );
    t.false(mayPost(grantOf(scope), OTHER));
  }
  t.false(mayPost(null, SHOP));
  t.false(mayPost(grantOf("read-only"), SHOP));
  refused(t, "unauthorized", () => requireWritable(null, SHOP));
  refused(t, "forbidden", () => requireWritable(grantOf("read-only"), SHOP));
  refused(t, "unauthorized", () => requireWritable(grantOf("read-only"), OTHER));
});

test("bookmarks, alerts and management need an account", (t) => {
  t.is(requireAccount(person(user)), user);
  t.deepEqual(requireMember(rights, person(user), SHOP), { account: user, log: shop, role: "user" });
  refused(t, "log_not_found", () => requireMember(rights, person(user), OTHER));
  for (const log of [SHOP, OTHER, ABSENT]) {
    refused(t, "forbidden", () => requireAccount(key("read-write")));
    refused(t, "forbidden", () => requireMember(rights, key("read-write"), log));
    refused(t, "forbidden", () => requireLogAdmin(rights, key("read-write"), log));
  }
  refused(t, "forbidden", () => requireServiceAdmin(key("read-write")));
});

test("managing a log needs its admin role, which a service admin does not have", (t) => {
  t.is(requireLogAdmin(rights, person(admin), SHOP).role, "admin");
  refused(t, "forbidden", () => requireLogAdmin(rights, person(user), SHOP));
  refused(t, "log_not_found", () => requireLogAdmin(rights, person(admin), OTHER));
  refused(t, "log_not_found", () => requireLogAdmin(rights, person(service), SHOP));
});

test("accounts are managed by service admins, and a password also by its owner", (t) => {
  t.is(requireServiceAdmin(person(service)), service);
  refused(t, "forbidden", () => requireServiceAdmin(person(admin)));
  t.is(requireSelfOrServiceAdmin(person(user), "USER@example.org"), user);
  t.is(requireSelfOrServiceAdmin(person(service), "user@example.org"), service);
  refused(t, "forbidden", () => requireSelfOrServiceAdmin(person(user), "admin@example.org"));
  refused(t, "forbidden", () => requireSelfOrServiceAdmin(key("read-write"), "user@example.org"));
});

function accountOf(digit: string, email: string): Account {
  return { id: digit.repeat(16) as UserId, email, admin: false };
}

function logOf(key: LogKey, roles: Record<string, LogRole>): Log {
  const shares = Object.entries(roles).map(([user, role]) => ({ user: user as UserId, role }));
  return { key, display: key, plan: "development", retentionDays: null, origins: [], shares, apiKeys: [] };
}

function grantOf(scope: Scope): KeyGrant {
  return { log: SHOP, id: "1", scope, disabled: false };
}

function person(account: Account): Caller {
  return { kind: "account", account };
}

function key(scope: Scope): Caller {
  return { kind: "key", grant: grantOf(scope) };
}

function refused(t: ExecutionContext, code: ErrorCode, work: () => unknown): void {
  t.is(t.throws(work, { instanceOf: LoggiaError })?.code, code);
}
