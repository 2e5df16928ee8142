import { parseBase } from "./addresses.ts";
import { CommandError, createSender, answerMessage, type ReceivedReply } from "./request.ts";
import { printable, printableLines } from "./terminal.ts";

export type ServiceOptions = {
  readonly api: string;
  /** `e-mail:password` of the account to act as. */
  readonly as: string;
};

/**
 * Calls the HTTP API of the running service as one account.
 * @throws CommandError with the service's message if it refuses the call
 */
export async function call(
  options: ServiceOptions,
  method: string,
  path: string,
  body?: { json: unknown } | { form: URLSearchParams },
): Promise<unknown> {
  const base = parseBase("LOGGIA_API", options.api);
  const sender = createSender(1);
  const headers: Record<string, string> = {
    ...authorizationHeader(options),
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

/** @throws CommandError if the account is malformed */
export function authorizationHeader({ as }: Pick<ServiceOptions, "as">): { readonly Authorization: string } {
  if (!as.includes(":")) throw new CommandError("--as (or LOGGIA_AS) must be e-mail:password of an account");
  return { Authorization: `Basic ${Buffer.from(as).toString("base64")}` };
}

function read(reply: ReceivedReply, method: string, path: string): unknown {
  if (reply.status >= 400 || reply.status < 200) {
    throw new CommandError(
      `${method} ${path} was refused with ${reply.status}: ${printableLines(answerMessage(reply.body))}`,
    );
  }
  if (reply.hint !== null) process.stderr.write(`loggia: hint from the service: ${printable(reply.hint)}\n`);
  return reply.body === "" ? null : (JSON.parse(reply.body) as unknown);
}
