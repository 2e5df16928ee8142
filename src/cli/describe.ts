import type { FirstStart } from "../bootstrap.ts";
import type { Loggia } from "../main.ts";
import type { Address } from "../settings/values.ts";

/** Secrets given by the operator or written to a file, which are not printed. */
export type GivenSecrets = { readonly password: boolean; readonly apiKey: boolean };
const NO_SECRETS_GIVEN: GivenSecrets = { password: false, apiKey: false };

/**
 * Describes the records created by the first start, with their generated secrets or with the name
 * of the file that has them.
 */
export function describeFirst(
  { admin, log }: FirstStart,
  given: GivenSecrets,
  { isResumed, file = null }: { readonly isResumed: boolean; readonly file?: string | null },
): string {
  const effect = admin === null ? "it created no log" : "what it printed is not valid";
  const what = isResumed ? `An earlier first start was interrupted: ${effect}.` : "First start.";
  const secret = (value: string, setting: string, isGiven: boolean): string =>
    isGiven ? `as given by ${setting}` : file === null ? value : "in that file";
  const where = `Its secrets are in ${file}, which only this user can read; remove it once you have noted them:`;
  const lines = [`${what} ${file === null ? "This is shown only once:" : where}`];
  if (admin !== null)
    lines.push(`  admin     ${admin.email}`, `  password  ${secret(admin.password, "LOGGIA_ADMIN", given.password)}`);
  if (log !== null)
    lines.push(`  log       ${log.key}`, `  API key   ${secret(log.apiKey, "LOGGIA_LOG", given.apiKey)}`);
  return [...lines, ""].join("\n");
}

/** Describes a start for the operator: addresses, and after the first start commands to try. */
export function describe({
  api,
  post,
  monitoring = null,
  listeners = [],
  first,
  given = NO_SECRETS_GIVEN,
}: Pick<Loggia, "api" | "post" | "first"> &
  Partial<Pick<Loggia, "monitoring" | "listeners">> & { readonly given?: GivenSecrets }): string {
  const password = given.password ? "PASSWORD" : first?.admin?.password;
  const apiKey = given.apiKey ? "KEY" : first?.log?.apiKey;
  const lines: string[] = [];
  if (api !== null) lines.push(`page     ${urlOf(onThisMachine(api))}/`, `API      ${urlOf(api)}/1`);
  if (post !== null) lines.push(`posting  ${urlOf(post)}/1`);
  for (const listener of listeners) lines.push(`${listener.protocol.padEnd(8)} ${urlOf(listener, listener.transport)}`);
  if (monitoring !== null)
    lines.push(`health   ${urlOf(monitoring)}/health/ready`, `metrics  ${urlOf(monitoring)}/metrics`);
  if (first?.ticket && api !== null)
    lines.push(
      "",
      `Sign in as ${first.admin?.email ?? "the admin"}, from this machine, once, within 10 minutes:`,
      `  ${urlOf(onThisMachine(api))}/#/?ticket=${first.ticket}`,
    );
  if (first?.log && post !== null) {
    const url = `${urlOf(post)}/1/logs/${first.log.key}/events`;
    lines.push(
      "",
      "Post an event:",
      `  curl ${quote(url)} -d apikey=${quote(apiKey!)} -d text='Hello, Loggia' -d tags=hello -d value=1`,
    );
  }
  if (first?.log && first.admin && api !== null) {
    const url = `${urlOf(api)}/1/logs/${first.log.key}/events`;
    lines.push("", "Read it:", `  curl -u ${quote(`${first.admin.email}:${password}`)} ${quote(url)}`);
  }
  return lines.join("\n");
}

/** Replaces a wildcard address by the loopback address. */
function onThisMachine({ host, port }: Address): Address {
  const loopback: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return { host: loopback[host] ?? host, port };
}

function urlOf({ host, port }: Address, scheme = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
