import type { Catalog, KeyGrant } from "../catalog/catalog.ts";
import type { Gate } from "./gate.ts";

export type GrantOptions = {
  readonly catalog: Pick<Catalog, "apiKey" | "knownApiKey">;
  readonly gate: Pick<Gate, "fingerprint" | "beforeCheck" | "failed">;
};

/**
 * What the API key with this secret grants, disabled or not; null where there is no such key, which is a guess that is counted. A key that was right lately is
 * neither hashed nor looked for again.
 * @param address where the request comes from
 * @throws LoggiaError `too_many_requests` after too many wrong keys
 */
export async function grantOf(
  secret: string,
  address: string,
  { catalog, gate }: GrantOptions,
): Promise<KeyGrant | null> {
  const known = catalog.knownApiKey(secret);
  gate.beforeCheck(address, known?.id ?? null);
  const grant = known ?? (await catalog.apiKey(secret));
  if (grant === null) gate.failed(address, gate.fingerprint(secret));
  return grant;
}
