import { readFileSync } from "node:fs";

import { HOOK_KINDS, HOOK_SIGNATURES } from "../catalog/hook-checks.ts";
import { call, type ServiceOptions } from "./call.ts";
import { at, type CommandOutput } from "./manage.ts";
import { readPassword } from "./password.ts";
import { CommandError } from "./request.ts";
import { printable, table } from "./terminal.ts";

export const KINDS = HOOK_KINDS;
export const SIGNATURES = HOOK_SIGNATURES;

/** Hook settings given on the command line. */
type Settings = {
  readonly kind?: string;
  readonly signature?: string;
  /** null: a new one is generated. */
  readonly secret?: string | null;
  readonly template?: unknown;
};
type Hook = {
  readonly name: string;
  readonly kind: string;
  readonly signature: string;
  readonly template: object | null;
  readonly path: string;
  /** The generated secret; absent in lists. */
  readonly secret?: string | null;
};

/** Reads the hook settings that are given. @throws CommandError */
export async function readSettings(given: Readonly<Record<string, string | undefined>>): Promise<Settings> {
  const { kind, signature, template, secretStdin, newSecret } = given;
  if ([given["secret"], secretStdin, newSecret].filter((option) => option !== undefined).length > 1) {
    throw new CommandError("Give only one of --secret, --secret-stdin and --new-secret");
  }
  const entered = secretStdin === undefined ? given["secret"] : await readPassword(process.stdin);
  const secret = newSecret === undefined ? entered : null;
  return {
    ...(kind !== undefined && { kind }),
    ...(signature !== undefined && { signature }),
    ...(secret !== undefined && { secret }),
    ...(template !== undefined && { template: readTemplate(template) }),
  };
}

function readTemplate(text: string): unknown {
  if (text === "none") return null;
  try {
    return JSON.parse(text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text);
  } catch (error) {
    throw new CommandError(`--template cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

export async function addHook(
  options: ServiceOptions,
  log: string,
  name: string,
  settings: Settings,
): Promise<CommandOutput> {
  const value = (await call(options, "POST", at("logs", log, "hooks"), { json: { ...settings, name } })) as Hook;
  return { value, text: `hook ${describe(value, log)} added: POST ${value.path}${secretOf(value)}` };
}

/** Changes the given settings and keeps the others. */
export async function changeHook(
  options: ServiceOptions,
  log: string,
  name: string,
  settings: Settings,
): Promise<CommandOutput> {
  if (Object.keys(settings).length === 0) throw new CommandError("Give at least one setting to change");
  const path = at("logs", log, "hooks", name);
  const { kind, signature, template } = (await call(options, "GET", path)) as Hook;
  const before = { kind, template, ...(!(signature === "none" && settings.secret !== undefined) && { signature }) };
  const value = (await call(options, "PUT", path, { json: { ...before, ...settings } })) as Hook;
  return { value, text: `hook ${describe(value, log)} changed${secretOf(value)}` };
}

export async function listHooks(options: ServiceOptions, log: string): Promise<CommandOutput> {
  const value = (await call(options, "GET", at("logs", log, "hooks"))) as Hook[];
  const rows = value.map(({ name, kind, signature, template, path }) => [
    name,
    kind,
    signature,
    template === null ? "" : JSON.stringify(template),
    path,
  ]);
  return { value, text: table(["NAME", "KIND", "SIGNATURE", "TEMPLATE", "PATH"], rows) };
}

export async function removeHook(options: ServiceOptions, log: string, name: string): Promise<CommandOutput> {
  const value = await call(options, "DELETE", at("logs", log, "hooks", name));
  return { value, text: `hook ${printable(name)} of log ${printable(log)} removed` };
}

function describe({ name }: Hook, log: string): string {
  return `${printable(name)} of log ${printable(log)}`;
}

function secretOf({ secret }: Hook): string {
  return typeof secret === "string" ? `; its secret, shown only once: ${secret}` : "";
}
