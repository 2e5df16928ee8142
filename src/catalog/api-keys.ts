import { API_KEY_LENGTH } from "../auth/credential-checks.ts";
import type { Scope } from "../auth/principals.ts";
import { LoggiaError } from "../errors.ts";
import type { Catalog, NewApiKey } from "./catalog.ts";
import { checkOneOf } from "./checks.ts";
import { apiKeyFromEntity } from "./indexes.ts";
import { findLog, withApiKey, withChangedApiKey } from "./log-changes.ts";
import { documentId } from "./model.ts";
import type { ApiKeyEntity } from "./model.ts";
import { quotaAddition } from "./quotas.ts";
import type { Quotas } from "./quotas.ts";
import { generateApiKey, generateId, hashSecret } from "../auth/secrets.ts";
import type { Snapshot } from "./snapshot.ts";
import type { Writer } from "./writer.ts";

/** Maximum number of cached digests of valid keys. Posts repeat the same few keys. */
const MAX_CACHED_DIGESTS = 10_000;

type ApiKeys = Pick<Catalog, "apiKey" | "cachedApiKey" | "createApiKey" | "setApiKeyDisabled" | "deleteApiKey">;

export function createApiKeys(parts: {
  snapshot: Snapshot;
  writer: Writer;
  quotas: Quotas;
  refresh: () => Promise<void>;
  refreshThrottled: () => Promise<void>;
}): ApiKeys {
  const { snapshot, writer, quotas, refreshThrottled } = parts;
  const digests = new Map<string, string>();
  return {
    cachedApiKey(secret) {
      const digest = digests.get(secret);
      if (digest !== undefined) return snapshot.grant(digest);
      const hash = hashSecret(secret);
      const grant = snapshot.grant(hash);
      if (grant !== null) {
        if (digests.size >= MAX_CACHED_DIGESTS) digests.clear();
        // Copy the string: a slice of a request would keep the whole request in memory.
        digests.set(Buffer.from(secret).toString(), hash);
      }
      return grant;
    },
    async apiKey(secret) {
      // A secret of impossible length needs no look-up.
      if (secret.length < API_KEY_LENGTH.least || secret.length > API_KEY_LENGTH.most) return null;
      const hash = hashSecret(secret);
      const grant = snapshot.grant(hash);
      if (grant !== null) return grant;
      await refreshThrottled();
      const found = snapshot.grant(hash);
      if (found === null && snapshot.accounts().length === 0) throw emptyCatalog();
      return found;
    },
    async createApiKey(key, scope) {
      const { entity, issued } = await newApiKey(parts, scope);
      const { owner } = await findLog(parts, key);
      await quotas.add(owner, [quotaAddition.apiKey(key, entity.id)], () =>
        writer.write(documentId.log(key), (current) => withApiKey(current, key, entity)),
      );
      return issued;
    },
    async setApiKeyDisabled(key, id, disabled) {
      const log = await writer.write(documentId.log(key), (current) =>
        withChangedApiKey(current, key, id, (found) => ({ ...found, disabled })),
      );
      return apiKeyFromEntity(log.apiKeys.find((apiKey) => apiKey.id === id)!);
    },
    async deleteApiKey(key, id) {
      await writer.write(documentId.log(key), (current) => withChangedApiKey(current, key, id, () => null));
    },
  };
}

/** An error rather than an unknown key, on which a producer might drop its events. */
function emptyCatalog(): LoggiaError {
  return new LoggiaError(
    "store_unavailable",
    "The catalog holds no accounts, so no key can be checked: it was lost, or is yet to be created; try again later",
  );
}

/**
 * Creates an API key as stored, and as returned once to its creator.
 * @param chosen a secret chosen by the operator
 * @throws LoggiaError `conflict` if a log already has the chosen secret: a secret grants access to
 * one log
 */
export async function newApiKey(
  parts: { snapshot: Snapshot; refresh: () => Promise<void> },
  scope: Scope,
  chosen?: string,
): Promise<{ entity: ApiKeyEntity; issued: NewApiKey }> {
  checkOneOf("scope", scope, ["read-write", "read-only", "write-only"]);
  const secret = chosen ?? generateApiKey();
  const entity = { id: generateId(), scope, disabled: false, created: Date.now(), hash: hashSecret(secret) };
  if (chosen !== undefined) {
    await parts.refresh();
    if (parts.snapshot.grant(entity.hash) !== null) {
      throw new LoggiaError(
        "conflict",
        "The field apiKey is in use; choose another, or leave it out to have one generated",
      );
    }
  }
  return { entity, issued: Object.freeze({ ...apiKeyFromEntity(entity), secret }) };
}
