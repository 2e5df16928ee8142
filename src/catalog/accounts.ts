import { createHash } from "node:crypto";

import { checkEmail, checkPassword } from "../auth/credential-checks.ts";
import type { Account } from "../auth/principals.ts";
import { LoggiaError } from "../errors.ts";
import type { UserId } from "../events/event.ts";
import type { Catalog } from "./catalog.ts";
import { withoutShare } from "./log-changes.ts";
import { documentId } from "./model.ts";
import type { AccountEntity, Entity } from "./model.ts";
import type { PasswordHasher } from "../auth/passwords/password-hasher.ts";
import { generateId } from "../auth/secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

type Accounts = Pick<
  Catalog,
  | "account"
  | "accountById"
  | "accounts"
  | "createAccount"
  | "setPassword"
  | "passwordMark"
  | "makeAdmin"
  | "deleteAccount"
>;

export function createAccounts(parts: {
  snapshot: Snapshot;
  writer: Writer;
  refresh: () => Promise<void>;
  hasher: PasswordHasher;
}): Accounts {
  const { snapshot, writer, refresh, hasher } = parts;
  return {
    account: (email) => snapshot.account(email),
    accountById: (id) => snapshot.accountById(id),
    accounts: () => snapshot.accounts(),
    async createAccount(given, requester) {
      const email = checkEmail(given.email);
      checkPassword(given.password);
      // Reject a known address before the slow hash. The write decides in the end.
      if (snapshot.account(email) !== null) throw taken(email);
      const password = await hasher.hash(given.password, requester);
      const id = generateId() as UserId;
      await writer.write(documentId.account(email), (current): AccountEntity => {
        if (current !== null) throw taken(email);
        return { kind: "account", id, email, admin: given.admin, password };
      });
      return snapshot.accountById(id) ?? Object.freeze({ id, email, admin: given.admin });
    },
    async setPassword(email, given, requester) {
      checkPassword(given);
      const { id } = await requireAccount(parts, email);
      const password = await hasher.hash(given, requester);
      await writer.write(documentId.account(email), (current) => ({ ...expectAccount(current, email, id), password }));
    },
    passwordMark(id) {
      const account = snapshot.accountById(id);
      const password = account === null ? undefined : snapshot.accountEntity(account.email)?.password;
      return password === undefined ? null : createHash("sha256").update(password).digest("hex");
    },
    async makeAdmin(email) {
      const { id } = await requireAccount(parts, email);
      await writer.write(documentId.account(email), (current) => {
        const account = expectAccount(current, email, id);
        return account.admin ? account : { ...account, admin: true };
      });
    },
    async deleteAccount(email) {
      // The user's logs and their other admins are read from memory, so refresh it first.
      await refresh();
      const { id } = await requireAccount(parts, email);
      const logs = snapshot.logsOf(id).map((log) => log.key);
      // Check all logs before changing the first. Each is checked again when it is written, as
      // another process may change it meanwhile.
      for (const key of logs) withoutShare(snapshot, snapshot.entry(documentId.log(key))?.entity ?? null, key, id);
      for (const key of logs) {
        await writer.write(documentId.log(key), (current) => withoutShare(snapshot, current, key, id));
      }
      await writer.write(documentId.account(email), (current) => {
        expectAccount(current, email, id);
        return null;
      });
      for (const options of snapshot.optionsOfUser(id)) {
        await writer.write(documentId.options(id, options.log, options.class), () => null);
      }
      for (const { log } of snapshot.savedQueriesOfUser(id)) {
        await writer.write(documentId.savedQueries(id, log), () => null);
      }
      await writer.write(documentId.sessions(id), () => null);
    },
  };
}

/** Returns the account, refreshing if it is unknown. @throws LoggiaError `account_not_found` */
export async function requireAccount(
  { snapshot, refresh }: { snapshot: Snapshot; refresh: () => Promise<void> },
  email: string,
): Promise<Account> {
  if (snapshot.account(email) === null) await refresh();
  const account = snapshot.account(email);
  if (account === null) throw notFound(email);
  return account;
}

/** Returns the account with this id; throws if a later account has the same address. */
function expectAccount(current: Entity | null, email: string, id: UserId): AccountEntity {
  if (current?.kind === "account" && current.id === id) return current;
  throw notFound(email);
}

function notFound(email: string): LoggiaError {
  return new LoggiaError("account_not_found", `There is no account ${email}`);
}

function taken(email: string): LoggiaError {
  return new LoggiaError("account_exists", `There is already an account ${email}`);
}
