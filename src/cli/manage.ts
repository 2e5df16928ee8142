import { randomBytes } from "node:crypto";

import { call, type ServiceOptions } from "./call.ts";
import { CommandError } from "./request.ts";
import { printable, table } from "./terminal.ts";

/** Result of a call: its value, and its text for people. */
export type CommandOutput = {
  readonly value: unknown;
  readonly text: string;
  /** Colours a line of the text, given its index from 0, on a terminal. */
  readonly paint?: (line: string, index: number) => string;
};

/** Class filter fields given on the command line. */
export type ClassFields = Partial<Record<"display" | "color" | "tag" | "text" | "link" | "source", string>> & {
  readonly weight?: number;
};

export const OPTIONS = ["alert", "notify", "hide"] as const;
export type Option = (typeof OPTIONS)[number];

type Account = { readonly id: string; readonly email: string; readonly admin: boolean };
type Log = {
  readonly key: string;
  readonly display: string;
  readonly plan: string;
  readonly retentionDays: number | null;
};
type Share = { readonly email: string; readonly role: string };
type ApiKey = { readonly id: string; readonly scope: string; readonly disabled: boolean; readonly key?: string };
type ClassFilter = Required<ClassFields> & { readonly key: string };
type TrackedUser = {
  readonly user: string;
  readonly email: string;
  readonly page: string;
  readonly seen: string;
  readonly count: number;
};

/** Builds a path of the management API from encoded segments. */
export function at(...segments: readonly string[]): string {
  return `/manage/1/${segments.map(encodeURIComponent).join("/")}`;
}

// Accounts

export async function addUser(
  options: ServiceOptions,
  account: { email: string; password: string | undefined; admin: boolean },
  shares: readonly { log: string; role: string }[],
): Promise<CommandOutput> {
  const { password, suffix } = passwordOf(account.password);
  const value = await call(options, "POST", at("accounts"), { json: { ...account, password } });
  for (const { log, role } of shares) await shareLog(options, log, account.email, role);
  const shared = shares.map(({ log, role }) => ` as ${role} of log ${log}`).join(" and");
  return { value, text: `user ${printable(account.email)} added${printable(shared)}${suffix}` };
}

export async function listUsers(options: ServiceOptions): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("accounts"))) as Account[];
  const rows = value.map(({ email, id, admin }) => [email, id, admin ? "yes" : "no"]);
  return { value, text: table(["EMAIL", "ID", "SERVICE ADMIN"], rows) };
}

export async function removeUser(options: ServiceOptions, email: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("accounts", email));
  return { value, text: `user ${printable(email)} removed` };
}

export async function setPassword(
  options: ServiceOptions,
  email: string,
  given: string | undefined,
): Promise<CommandOutput> {
  const { password, suffix } = passwordOf(given);
  const value = await call(options, "PUT", at("accounts", email), { json: { password } });
  return { value, text: `password of user ${printable(email)} set${suffix}` };
}

/** Returns the given password, or a generated one with a message that shows it. */
function passwordOf(given: string | undefined): { password: string; suffix: string } {
  if (given !== undefined) return { password: given, suffix: "" };
  const password = randomBytes(12).toString("base64url");
  return { password, suffix: `, password: ${password}` };
}

// Logs

export async function addLog(options: ServiceOptions, key: string, display: string): Promise<CommandOutput> {
  const value = await call(options, "POST", "/1/logs", { form: new URLSearchParams({ key, display }) });
  // A log comes with a key whose secret is shown to nobody.
  for (const { id } of (await call(options, "GET", at("logs", key, "apiKeys"))) as ApiKey[])
    await call(options, "DELETE", at("logs", key, "apiKeys", id));
  return {
    value,
    text: `log ${printable(key)} added; loggia key add --log ${printable(key)} creates an API key for it`,
  };
}

export async function listLogs(options: ServiceOptions): Promise<CommandOutput> {
  const value = (await call(options, "GET", "/1/logs")) as Pick<Log, "key" | "display">[];
  const rows = value.map((log) => [log.key, log.display]);
  return { value, text: table(["KEY", "DISPLAY"], rows) };
}

export async function showLog(options: ServiceOptions, key: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", key))) as Log;
  return { value, text: describeLog(value) };
}

export async function setLog(
  options: ServiceOptions,
  key: string,
  change: { display?: string; retentionDays?: number | null },
): Promise<CommandOutput> {
  if (Object.keys(change).length === 0) throw new CommandError("Give --display, --retention-days or both");
  const value = (await call(options, "PATCH", at("logs", key), { json: change })) as Log;
  return { value, text: describeLog(value) };
}

function describeLog({ key, display, plan, retentionDays }: Log): string {
  const kept = retentionDays === null ? "for ever" : `${retentionDays} days`;
  return table(["KEY", "DISPLAY", "PLAN", "EVENTS KEPT"], [[key, display, plan, kept]]);
}

export async function shareLog(
  options: ServiceOptions,
  log: string,
  email: string,
  role: string,
): Promise<CommandOutput> {
  const value = await call(options, "PUT", at("logs", log, "shares", email), { json: { role } });
  return { value, text: `log ${printable(log)} shared with ${printable(email)} as ${role}` };
}

export async function unshareLog(options: ServiceOptions, log: string, email: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("logs", log, "shares", email));
  return { value, text: `log ${printable(log)} is no longer shared with ${printable(email)}` };
}

export async function listShares(options: ServiceOptions, log: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", log, "shares"))) as Share[];
  const rows = value.map(({ email, role }) => [email, role]);
  return { value, text: table(["EMAIL", "ROLE"], rows) };
}

/** Lists a page of the users reported by the producer. */
export async function listTracked(options: ServiceOptions, log: string, page: number): Promise<CommandOutput> {
  const value = (await call(options, "GET", `${at("logs", log, "users")}?pagenum=${page}`)) as TrackedUser[];
  const rows = value.map(({ user, email, page: last, seen, count }) => [
    user,
    email,
    last,
    readMoment(seen),
    String(count),
  ]);
  return { value, text: table(["USER", "EMAIL", "PAGE", "SEEN", "COUNT"], rows) };
}

/** Converts `/Date(ms)/` to ISO 8601. */
export function readMoment(text: string): string {
  const ms = /^\/Date\((-?\d+)\)\/$/.exec(text)?.[1];
  return ms === undefined ? text : new Date(Number(ms)).toISOString();
}

// API keys

export async function addKey(options: ServiceOptions, log: string, scope: string): Promise<CommandOutput> {
  const value = (await call(options, "POST", at("logs", log, "apiKeys"), { json: { scope } })) as ApiKey;
  return { value, text: `${scope} key ${value.id} of log ${printable(log)}, shown only once: ${value.key ?? ""}` };
}

export async function listKeys(options: ServiceOptions, log: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", log, "apiKeys"))) as ApiKey[];
  const rows = value.map((key) => [key.id, key.scope, key.disabled ? "disabled" : "enabled"]);
  return { value, text: table(["ID", "SCOPE", "STATE"], rows) };
}

export async function disableKey(
  options: ServiceOptions,
  log: string,
  id: string,
  disabled: boolean,
): Promise<CommandOutput> {
  const value = await call(options, "PATCH", at("logs", log, "apiKeys", id), { json: { disabled } });
  return { value, text: `key ${printable(id)} of log ${printable(log)} ${disabled ? "disabled" : "enabled"}` };
}

export async function removeKey(options: ServiceOptions, log: string, id: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("logs", log, "apiKeys", id));
  return { value, text: `key ${printable(id)} of log ${printable(log)} removed` };
}

// Classes

export async function addClass(
  options: ServiceOptions,
  log: string,
  key: string,
  fields: ClassFields,
): Promise<CommandOutput> {
  const filter = { display: key, color: "gray", ...fields, key };
  const value = await call(options, "POST", at("logs", log, "classFilters"), { json: filter });
  return { value, text: `class ${printable(key)} of log ${printable(log)} added` };
}

/** Changes the given fields and keeps the others. */
export async function changeClass(
  options: ServiceOptions,
  log: string,
  key: string,
  fields: ClassFields,
): Promise<CommandOutput> {
  if (Object.keys(fields).length === 0) throw new CommandError("Give at least one field to change");
  const path = at("logs", log, "classFilters", key);
  const { key: _, ...before } = (await call(options, "GET", path)) as ClassFilter;
  const value = await call(options, "PUT", path, { json: { ...before, ...fields } });
  return { value, text: `class ${printable(key)} of log ${printable(log)} changed` };
}

export async function listClasses(options: ServiceOptions, log: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", `/1/logs/${encodeURIComponent(log)}/classFilters`)) as ClassFilter[];
  const rows = value.map(
    ({ key, display, color, tag, text, link, source, weight }) =>
    [key, display, color, tag, text, link, source, String(weight)], // prettier-ignore
  );
  return { value, text: table(["KEY", "DISPLAY", "COLOR", "TAG", "TEXT", "LINK", "SOURCE", "WEIGHT"], rows) };
}

export async function removeClass(options: ServiceOptions, log: string, key: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("logs", log, "classFilters", key));
  return { value, text: `class ${printable(key)} of log ${printable(log)} removed` };
}

// The caller's own options for a class

export async function showOptions(options: ServiceOptions, log: string, key: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", log, "classFilters", key, "options"))) as Record<
    Option,
    boolean
  >;
  return { value, text: table(["ALERT", "NOTIFY", "HIDE"], [OPTIONS.map((option) => (value[option] ? "on" : "off"))]) };
}

/** Turns one of the caller's own options on or off and keeps the others. */
export async function setOption(
  options: ServiceOptions,
  log: string,
  key: string,
  option: Option,
  on: boolean,
): Promise<CommandOutput> {
  const path = at("logs", log, "classFilters", key, "options");
  const before = (await call(options, "GET", path)) as Record<Option, boolean>;
  const value = await call(options, "PUT", path, { json: { ...before, [option]: on } });
  return { value, text: `${option} for class ${printable(key)} of log ${printable(log)} is ${on ? "on" : "off"}` };
}
