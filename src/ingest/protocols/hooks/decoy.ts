import type { IncomingHttpHeaders } from "node:http";

import type { HookSignature, ReceivingHook } from "../../../catalog/catalog.ts";
import { HOOK_SIGNATURES } from "../../../catalog/hook-checks.ts";
import { generateHookSecret } from "../../../auth/secrets.ts";
import { signatureHeader } from "./signatures.ts";

/** What a signature is verified by. `isDecoy`: no signature can be right. */
export type Verifier = { readonly signature: HookSignature; readonly secret: string; readonly isDecoy: boolean };

/** Nobody knows it. It stands for the secret of every hook that does not exist. */
const DECOY_SECRET = generateHookSecret();

/** Returns the signature scheme whose header a request has; null if it has none. */
function schemeOf(headers: IncomingHttpHeaders): HookSignature | null {
  return HOOK_SIGNATURES.find((signature) => signatureHeader(signature, headers) !== "") ?? null;
}

/** Returns whether a request carries a signature of any scheme. */
export function hasSignature(headers: IncomingHttpHeaders): boolean {
  return schemeOf(headers) !== null;
}

/**
 * Returns what to verify a request by: the hook, or a decoy if there is none that could have signed
 * it. With a decoy it takes the same steps, so that a stranger learns nothing from the answer.
 */
export function hookVerifier(hook: ReceivingHook | null, headers: IncomingHttpHeaders): Verifier {
  const { signature = "none", secret } = hook ?? {};
  if (secret !== undefined && signatureHeader(signature, headers) !== "") return { signature, secret, isDecoy: false };
  return { signature: schemeOf(headers) ?? "none", secret: DECOY_SECRET, isDecoy: true };
}
