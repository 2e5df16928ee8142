import type { Account, Requester } from "../../catalog/catalog.ts";
import { idOf } from "../../catalog/model.ts";
import { requireSelfOrServiceAdmin, requireServiceAdmin } from "../../catalog/permissions.ts";
import { LoggiaError } from "../../errors.ts";
import type { Call, Route } from "../../http/route.ts";
import { NO_CONTENT } from "../context.ts";
import type { ApiCall, Context } from "../context.ts";
import { readJson } from "../input.ts";
import { NewAccount, NewPassword } from "../schemas/inputs.ts";
import { created, managed, ok } from "./json.ts";

export function accountRoutes(context: Context): Route[] {
  const { catalog, limiter } = context;
  return [
    managed(context, "GET", "/accounts", ({ caller }) => {
      requireServiceAdmin(caller);
      return ok(catalog.accounts().map(showAccount));
    }),
    managed(context, "POST", "/accounts", async (call) => {
      requireServiceAdmin(call.caller);
      const account = await catalog.createAccount(await readJson(context, call, NewAccount), requesterOf(call));
      return created(`/accounts/${encodeURIComponent(account.email)}`, showAccount(account));
    }),
    managed(context, "GET", "/accounts/:email", (call) => {
      requireSelfOrServiceAdmin(call.caller, emailOf(call));
      return ok(showAccount(findAccount(context, call)));
    }),
    managed(context, "PUT", "/accounts/:email", async (call) => {
      requireSelfOrServiceAdmin(call.caller, emailOf(call));
      const { password } = await readJson(context, call, NewPassword);
      await catalog.setPassword(emailOf(call), password, requesterOf(call));
      limiter.notePassword(limiter.pairOf(idOf.account(emailOf(call)), password));
      return ok(showAccount(findAccount(context, call)));
    }),
    managed(context, "DELETE", "/accounts/:email", async (call) => {
      requireServiceAdmin(call.caller);
      await catalog.deleteAccount(emailOf(call));
      return NO_CONTENT;
    }),
  ];
}

/** @throws LoggiaError `account_not_found` */
export function findAccount({ catalog }: Context, call: Call): Account {
  const account = catalog.account(emailOf(call));
  if (account !== null) return account;
  throw new LoggiaError("account_not_found", `There is no account ${emailOf(call)}`);
}

/** Returns the caller as a requester of the password hasher. */
function requesterOf({ caller, address }: ApiCall): Requester {
  const account = caller.kind === "account" ? idOf.account(caller.account.email) : `key ${caller.grant.id}`;
  return { address, account, isKnown: true };
}

export function emailOf(call: Call): string {
  return call.params["email"] ?? "";
}

function showAccount({ id, email, admin }: Account) {
  return { id, email, admin };
}
