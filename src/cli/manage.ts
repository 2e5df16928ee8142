import { CommandError, createSender, messageOf, parseBase, type Reply } from "./request.ts";
import { printable, table } from "./terminal.ts";

export type ServiceOptions = {
  readonly api: string;
  /** `e-mail:password` of the account that acts. */
  readonly as: string;
  /** Print the service's own JSON instead of a table. */
  readonly json?: boolean;
};

/** What a call answered, and how a person reads it. */
export type Answer = { readonly value: unknown; readonly text: string };

type ClassFilter = {
  readonly key: string;
  readonly display: string;
  readonly color: string;
  readonly tag: string;
  readonly text: string;
  readonly link: string;
  readonly source: string;
  readonly weight: number;
};

type ApiKey = { readonly id: string; readonly scope: string; readonly disabled: boolean; readonly key?: string };

/**
 * Calls the running service's HTTP API as one account.
 * @throws CommandError with the service's own words where it refuses
 */
async function call(
  options: ServiceOptions,
  method: string,
  path: string,
  body?: { json: unknown } | { form: URLSearchParams },
): Promise<unknown> {
  const base = parseBase("--api", options.api);
  if (!options.as.includes(":"))
    throw new CommandError("--as (or LOGGIA_AS) must be e-mail:password of the account that acts");
  const sender = createSender(1);
  const headers: Record<string, string> = {
    Authorization: `Basic ${Buffer.from(options.as).toString("base64")}`,
    Accept: "application/json",
  };
  let text = "";
  if (body !== undefined) {
    text = "json" in body ? JSON.stringify(body.json) : body.form.toString();
    headers["Content-Type"] = "json" in body ? "application/json" : "application/x-www-form-urlencoded";
  }
  try {
    const url = new URL(base.origin + base.pathname.replace(/\/$/, "") + path);
    return read(await sender.send(url, { method, headers, body: text }), method, path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`The service at ${base.origin} did not answer: ${(error as Error).message}`, {
      cause: error,
    });
  } finally {
    sender.close();
  }
}

function read(reply: Reply, method: string, path: string): unknown {
  if (reply.status >= 400 || reply.status < 200) {
    throw new CommandError(`${method} ${path} was refused with ${reply.status}: ${printable(messageOf(reply.body))}`);
  }
  return reply.body === "" ? null : (JSON.parse(reply.body) as unknown);
}

const manage = (log: string, rest: string): string => `/manage/1/logs/${encodeURIComponent(log)}${rest}`;

export async function addClass(options: ServiceOptions, log: string, filter: ClassFilter): Promise<Answer> {
  const value = await call(options, "POST", manage(log, "/classFilters"), { json: filter });
  return { value, text: `class ${printable(filter.key)} of log ${log} added` };
}

export async function listClasses(options: ServiceOptions, log: string): Promise<Answer> {
  const value = (await call(options, "GET", `/1/logs/${encodeURIComponent(log)}/classFilters`)) as ClassFilter[];
  const rows = value.map((filter) => [
    filter.key,
    filter.display,
    filter.color,
    filter.tag,
    filter.text,
    filter.link,
    filter.source,
    String(filter.weight),
  ]);
  return { value, text: table(["KEY", "DISPLAY", "COLOR", "TAG", "TEXT", "LINK", "SOURCE", "WEIGHT"], rows) };
}

export async function removeClass(options: ServiceOptions, log: string, key: string): Promise<Answer> {
  const value = await call(options, "DELETE", manage(log, `/classFilters/${encodeURIComponent(key)}`));
  return { value, text: `class ${printable(key)} of log ${log} removed` };
}

/** Turns one of the caller's own options for a class on or off, and leaves the others as they are. */
export async function setOption(
  options: ServiceOptions,
  log: string,
  classKey: string,
  option: "alert" | "notify" | "hide",
  on: boolean,
): Promise<Answer> {
  const path = manage(log, `/classFilters/${encodeURIComponent(classKey)}/options`);
  const before = (await call(options, "GET", path)) as Record<string, boolean>;
  const value = await call(options, "PUT", path, { json: { ...before, [option]: on } });
  return { value, text: `${option} for class ${printable(classKey)} of log ${log} is ${on ? "on" : "off"}` };
}

export async function addUser(
  options: ServiceOptions,
  account: { email: string; password: string; admin: boolean },
  shares: readonly { log: string; role: string }[],
): Promise<Answer> {
  const value = await call(options, "POST", "/manage/1/accounts", { json: account });
  for (const { log, role } of shares) await shareLog(options, log, account.email, role);
  const shared = shares.map(({ log, role }) => ` as ${role} of log ${log}`).join(" and");
  return { value, text: `user ${printable(account.email)} added${shared}` };
}

export async function shareLog(options: ServiceOptions, log: string, email: string, role: string): Promise<Answer> {
  const value = await call(options, "PUT", manage(log, `/shares/${encodeURIComponent(email)}`), { json: { role } });
  return { value, text: `log ${log} shared with ${printable(email)} as ${role}` };
}

export async function addLog(options: ServiceOptions, key: string, display: string): Promise<Answer> {
  const value = await call(options, "POST", "/1/logs", { form: new URLSearchParams({ key, display }) });
  return { value, text: `log ${printable(key)} added; loggia key add --log ${printable(key)} makes an API key for it` };
}

export async function listLogs(options: ServiceOptions): Promise<Answer> {
  const value = (await call(options, "GET", "/1/logs")) as { key: string; display: string }[];
  return {
    value,
    text: table(
      ["KEY", "DISPLAY"],
      value.map((log) => [log.key, log.display]),
    ),
  };
}

export async function addKey(options: ServiceOptions, log: string, scope: string): Promise<Answer> {
  const value = (await call(options, "POST", manage(log, "/apiKeys"), { json: { scope } })) as ApiKey;
  return { value, text: `${scope} key ${value.id} of log ${log}, shown this once: ${value.key ?? ""}` };
}

export async function disableKey(options: ServiceOptions, log: string, id: string, disabled: boolean): Promise<Answer> {
  const value = await call(options, "PATCH", manage(log, `/apiKeys/${encodeURIComponent(id)}`), { json: { disabled } });
  return { value, text: `key ${printable(id)} of log ${log} ${disabled ? "disabled" : "enabled"}` };
}

export async function listKeys(options: ServiceOptions, log: string): Promise<Answer> {
  const value = (await call(options, "GET", manage(log, "/apiKeys"))) as ApiKey[];
  const rows = value.map((key) => [key.id, key.scope, key.disabled ? "disabled" : "enabled"]);
  return { value, text: table(["ID", "SCOPE", "STATE"], rows) };
}
