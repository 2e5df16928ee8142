import { errors } from "@elastic/elasticsearch";

import { LoggiaError } from "../errors.ts";

/** The supported releases of Elasticsearch, for messages. */
export const SUPPORTED_RELEASES = "8.19 and later releases of 8, and 9";

/** Oldest supported minor release of 8. */
const OLDEST_8 = 19;

/** A major release, whose API the headers of a request name. A cluster also takes the one before. */
export type ApiMajor = 8 | 9;

/** Limits of the request on whose behalf the version is read. */
type Limits = {
  readonly signal?: AbortSignal;
  readonly requestTimeout?: number | string;
  readonly maxRetries?: number;
};

/** Sends a request with the client's transport. */
type SendQuestion = (
  params: { readonly method: string; readonly path: string; readonly querystring?: string },
  options: Limits & { readonly headers: Readonly<Record<string, string>>; readonly meta: true },
) => Promise<Answer>;

type Answer = {
  readonly body: unknown;
  readonly meta: { readonly connection?: { readonly url: URL } | null };
};

type Info = { readonly version?: { readonly number?: string } };
type Nodes = { readonly nodes?: Readonly<Record<string, { readonly version?: string }>> };

/** Every release takes these headers. */
const PLAIN = { accept: "application/json", "content-type": "application/json" };

/**
 * Reads the version of the cluster, from a node without its info module from the list of nodes.
 * @returns the version, and the API to use with it
 * @throws LoggiaError `store_unavailable` that lists the supported releases if it is not one of
 * them; the client's error if the node is unreachable, overloaded or rejects the credentials
 */
export async function readVersion(
  send: SendQuestion,
  { signal, requestTimeout, maxRetries }: Limits = {},
): Promise<{ readonly version: string | null; readonly api: ApiMajor }> {
  const limits = {
    ...(signal !== undefined && { signal }),
    ...(requestTimeout !== undefined && { requestTimeout }),
    ...(maxRetries !== undefined && { maxRetries }),
  };
  const ask = async (path: string, querystring?: string): Promise<Answer | null> => {
    const question = { method: "GET", path, ...(querystring !== undefined && { querystring }) };
    return unlessRefused(send(question, { ...limits, headers: PLAIN, meta: true }));
  };
  const info = await ask("/");
  const given = (info?.body as Info | undefined)?.version?.number;
  if (given !== undefined) return check(given, info);
  const nodes = await ask("/_nodes/_local", "filter_path=nodes.*.version");
  const [node] = Object.values((nodes?.body as Nodes | undefined)?.nodes ?? {});
  if (node?.version !== undefined) return check(node.version, nodes);
  // Credentials may not permit either question. Both majors take the API of 8.
  return { version: null, api: 8 };
}

function check(version: string, answer: Answer | null): { readonly version: string; readonly api: ApiMajor } {
  const [major, minor] = version.split(".").map(Number);
  if (major === 9) return { version, api: 9 };
  if (major === 8 && (minor ?? 0) >= OLDEST_8) return { version, api: 8 };
  const where = answer?.meta.connection?.url.origin ?? "its configured address";
  const message = `Elasticsearch at ${where} is version ${version}; supported are ${SUPPORTED_RELEASES}`;
  throw new LoggiaError("store_unavailable", message);
}

/** Resolves with null if the node does not know the path or forbids it. */
async function unlessRefused(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof errors.ResponseError && [400, 403, 404, 405].includes(error.statusCode ?? 0)) return null;
    throw error;
  }
}

/** Returns the headers by which a request names the API that it is written for. */
export function headersOfApi(api: ApiMajor, isBulk: boolean): Readonly<Record<string, string>> {
  const json = `application/vnd.elasticsearch+json; compatible-with=${api}`;
  const lines = `application/vnd.elasticsearch+x-ndjson; compatible-with=${api}`;
  return { accept: json, "content-type": isBulk ? lines : json };
}

/** Whether a node refused a request because it is of an earlier major release than the API. */
export function isRefusedApi(error: unknown): boolean {
  if (!(error instanceof errors.ResponseError) || error.statusCode !== 400) return false;
  const body = error.body as { error?: { type?: string } } | undefined;
  return body?.error?.type === "media_type_header_exception";
}
