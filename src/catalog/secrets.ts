import { hash, randomBytes } from "node:crypto";

/** Without the letters and digits that are taken for each other. 32 of them: five bits each. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";
const LENGTH = 32;

/** A new API key: `lg_` and 160 random bits, which survive addresses, forms and a double click. */
export function drawApiKey(): string {
  let secret = "lg_";
  for (const byte of randomBytes(LENGTH)) secret += ALPHABET[byte & 31];
  return secret;
}

const DRAWN = new RegExp(`^lg_[${ALPHABET}]{${LENGTH}}$`);

/**
 * Whether a secret, right or wrong, has the form of a drawn API key. Such keys cannot be guessed.
 */
export function isDrawnApiKey(secret: string): boolean {
  return DRAWN.test(secret);
}

const SECRET_BYTES = 32;
const SECRET = /^[\w-]{43}$/;

/** A secret of 256 random bits, as it stands in a cookie or an address. */
export function drawSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Whether a text has the form of {@link drawSecret}. */
export function isDrawnSecret(text: string): boolean {
  return SECRET.test(text);
}

/** A new secret of a hook, as Standard Webhooks write it: 256 random bits in base64. */
export function drawHookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/**
 * What is kept of an API key or a drawn secret. These are too random to be guessed from it, so it
 * need not be slow.
 */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** A random permanent id of 16 lower-case hex digits. */
export function drawId(): string {
  return randomBytes(8).toString("hex");
}
