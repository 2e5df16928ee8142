import type { Requester } from "../../auth/passwords/fair-queue.ts";
import type { Account } from "../../auth/principals.ts";
import { foldEmail } from "../../auth/credential-checks.ts";
import { LoggiaError } from "../../errors.ts";
import type { Call } from "../../http/route.ts";
import type { ApiCall, Context } from "../context.ts";
import { created, NO_CONTENT, ok, REMOVED_ANSWER } from "../replies.ts";
import { AccountList, AccountRecord } from "../schemas/answers.ts";
import { NewAccount, NewPassword } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";

export const ACCOUNT_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/accounts",
    who: "service admin",
    id: "listAccounts",
    summary: "List all accounts; for service admins",
    answers: { 200: { what: "The accounts", schema: AccountList } },
    handle: ({ catalog }) => ok(catalog.accounts().map(showAccount)),
  }),
  managed({
    method: "POST",
    path: "/manage/1/accounts",
    who: "service admin",
    id: "createAccount",
    summary: "Create an account; for service admins",
    json: NewAccount,
    answers: { 201: { what: "The account", schema: AccountRecord, headers: ["Location"] } },
    errors: ["account_exists"],
    async handle({ catalog }, call) {
      const account = await catalog.createAccount(await call.input(), requesterOf(call));
      return created(`/manage/1/accounts/${encodeURIComponent(account.email)}`, showAccount(account));
    },
  }),
  managed({
    method: "GET",
    path: "/manage/1/accounts/:email",
    who: "own account or service admin",
    id: "readAccount",
    summary: "Read one's own account, or as a service admin any account",
    answers: { 200: { what: "The account", schema: AccountRecord } },
    errors: ["account_not_found"],
    handle: (context, call) => ok(showAccount(findAccount(context, call))),
  }),
  managed({
    method: "PUT",
    path: "/manage/1/accounts/:email",
    who: "own account or service admin",
    id: "setPassword",
    summary: "Set the password of one's own account, or as a service admin of any account",
    json: NewPassword,
    answers: { 200: { what: "The account", schema: AccountRecord } },
    errors: ["account_not_found"],
    async handle(context, call) {
      const { catalog, guesses } = context;
      const { password } = await call.input();
      await catalog.setPassword(emailParameter(call), password, requesterOf(call));
      guesses.notePassword(guesses.pairFor(foldEmail(emailParameter(call)), password));
      return ok(showAccount(findAccount(context, call)));
    },
  }),
  managed({
    method: "DELETE",
    path: "/manage/1/accounts/:email",
    who: "service admin",
    id: "deleteAccount",
    summary: "Remove an account with its shares and options; for service admins",
    answers: { 204: REMOVED_ANSWER },
    errors: ["account_not_found", "conflict"],
    async handle({ catalog }, call) {
      await catalog.deleteAccount(emailParameter(call));
      return NO_CONTENT;
    },
  }),
];

/** @throws LoggiaError `account_not_found` */
export function findAccount({ catalog }: Context, call: Call): Account {
  const account = catalog.account(emailParameter(call));
  if (account !== null) return account;
  throw new LoggiaError("account_not_found", `There is no account ${emailParameter(call)}`);
}

/** Returns the caller as a requester of the password hasher. */
function requesterOf({ caller, address }: ApiCall): Requester {
  const account = caller.kind === "account" ? foldEmail(caller.account.email) : `key ${caller.grant.id}`;
  return { address, account, isKnown: true };
}

export function emailParameter(call: Call): string {
  return call.params["email"] ?? "";
}

function showAccount({ id, email, admin }: Account) {
  return { id, email, admin };
}
