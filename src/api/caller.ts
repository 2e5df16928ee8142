import type { Catalog } from "../catalog/catalog.ts";
import { requireKey } from "../catalog/permissions.ts";
import type { Caller } from "../catalog/permissions.ts";
import { LoggiaError } from "../errors.ts";
import type { Gate } from "../gate/gate.ts";
import { grantOf } from "../gate/grant.ts";
import type { GrantOptions } from "../gate/grant.ts";
import { hasBody, readBody } from "../http/body.ts";
import type { BodyOptions } from "../http/body.ts";
import { parseForm } from "../http/form.ts";
import type { Call } from "../http/route.ts";

export type AuthenticationOptions = GrantOptions & {
  readonly catalog: Pick<Catalog, "authenticate">;
  readonly gate: Pick<Gate, "passed">;
  readonly body: BodyOptions;
  /** Whether the body belongs to the call (a form, or JSON), and cannot hold credentials. */
  readonly takesBody: boolean;
};

type Pair = { readonly email: string; readonly password: string };

const HOW = "Send e-mail and password by HTTP Basic, or an API key as the parameter apikey";

/**
 * Who calls: HTTP Basic first, then `apikey` in the query, then credentials as the whole body of a call that takes none.
 * @throws LoggiaError `unauthorized`; `too_many_requests` after too many wrong credentials or requests; `forbidden` where another site's page made the browser ask with the person's credentials;
 *   whatever {@link readBody} throws
 */
export async function authenticate(call: Call, options: AuthenticationOptions): Promise<Caller> {
  const { body, takesBody } = options;
  const { authorization } = call.request.headers;
  if (authorization !== undefined) {
    refuseOtherSites(call);
    const pair = parseBasic(authorization);
    if (pair === null) {
      const why = "Authorization holds no e-mail and password as HTTP Basic has them";
      throw new LoggiaError("unauthorized", `${why}. ${HOW}`);
    }
    return await checkPair(pair, call, options);
  }
  const key = call.query.get("apikey");
  if (key !== null) return await checkKey(key, call, options);
  if (!takesBody && hasBody(call.request)) {
    return await checkBody((await readBody(call.request, body)).toString("utf8"), call, options);
  }
  throw new LoggiaError("unauthorized", `This call came without credentials. ${HOW}`);
}

/** What stands for a caller where requests are counted. */
export function nameOf(caller: Caller): string {
  return caller.kind === "account" ? `account ${caller.account.id}` : `key ${caller.grant.id}`;
}

async function checkPair(pair: Pair, { address }: Call, { catalog, gate }: AuthenticationOptions): Promise<Caller> {
  const fingerprint = gate.fingerprint(JSON.stringify([pair.email, pair.password]));
  gate.beforeCheck(address, fingerprint);
  const account = await catalog.authenticate(pair.email, pair.password);
  if (account === null) {
    gate.failed(address, fingerprint);
    throw wrongPair();
  }
  const caller: Caller = { kind: "account", account };
  gate.passed(address, fingerprint, nameOf(caller));
  return caller;
}

function wrongPair(): LoggiaError {
  return new LoggiaError("unauthorized", `E-mail or password is wrong. ${HOW}`);
}

async function checkKey(secret: string, { address }: Call, options: AuthenticationOptions): Promise<Caller> {
  const caller = requireKey(await grantOf(secret, address, options));
  options.gate.passed(address, caller.grant.id, nameOf(caller));
  return caller;
}

/** `e-mail:password`, as `curl -d` sends it; or a form with an `apikey`, as a post has it that was sent to this address by mistake. */
async function checkBody(body: string, call: Call, options: AuthenticationOptions): Promise<Caller> {
  const key = parseForm(body).get("apikey");
  if (key !== null) return await checkKey(key, call, options);
  const pair = splitPair(body.replace(/[\r\n]+$/, ""));
  // What has not the form of a pair is no guess.
  if (pair === null) throw wrongPair();
  return await checkPair(pair, call, options);
}

function parseBasic(authorization: string): Pair | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(authorization)?.[1];
  return encoded === undefined ? null : splitPair(Buffer.from(encoded, "base64").toString("utf8"));
}

function splitPair(text: string): Pair | null {
  const colon = text.indexOf(":");
  return colon === -1 ? null : { email: text.slice(0, colon), password: text.slice(colon + 1) };
}

/**
 * A browser that holds somebody's Basic credentials sends them along when another site's page asks. Such a page can read JSONP,
 * and can send forms without reading the answer; so neither is for it.
 */
function refuseOtherSites({ request, format }: Call): void {
  if (request.headers["sec-fetch-site"] !== "cross-site") return;
  if (format.kind === "jsonp") {
    throw new LoggiaError("forbidden", "Pages of other sites get no JSONP with a person's credentials; use an API key");
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new LoggiaError("forbidden", "Pages of other sites may change nothing with a person's credentials");
  }
}
