import { randomBytes } from "node:crypto";

import type { Catalog } from "../catalog/catalog.ts";
import { LoggiaError } from "../errors.ts";

/** `made`: what the account became by it; null where it is what it was. */
export type ResetAdmin = {
  readonly email: string;
  readonly password: string;
  readonly isDrawn: boolean;
  readonly made: "created" | "admin" | null;
};

/**
 * Sets the password of an account, without knowing any. Where no service admin is left, the account
 * becomes one, and is created where it does not exist.
 *
 * @param given.email the only service admin's unless given
 * @param given.password drawn unless given
 * @throws LoggiaError `bad_parameter`, `account_not_found`
 */
export async function resetAdmin(
  catalog: Catalog,
  given: { email: string | undefined; password: string | undefined },
): Promise<ResetAdmin> {
  await catalog.refresh();
  const admins = catalog.accounts().filter(({ admin }) => admin);
  const email = given.email ?? onlyOf(admins);
  const password = given.password ?? randomBytes(12).toString("base64url");
  const isDrawn = given.password === undefined;
  if (catalog.account(email) === null) {
    if (admins.length > 0)
      throw new LoggiaError("account_not_found", `There is no account ${email}. Service admins: ${emailsOf(admins)}`);
    await catalog.createAccount({ email, password, admin: true });
    return { email, password, isDrawn, made: "created" };
  }
  await catalog.setPassword(email, password);
  if (admins.length > 0) return { email, password, isDrawn, made: null };
  await catalog.makeAdmin(email);
  return { email, password, isDrawn, made: "admin" };
}

type Emails = readonly { readonly email: string }[];

function onlyOf(admins: Emails): string {
  const [first, ...others] = admins;
  if (first === undefined)
    throw new LoggiaError("bad_parameter", "There is no service admin: name the account that is to be one");
  if (others.length > 0)
    throw new LoggiaError("bad_parameter", `There are several service admins, name one: ${emailsOf(admins)}`);
  return first.email;
}

function emailsOf(admins: Emails): string {
  return admins.map(({ email }) => email).join(", ");
}
