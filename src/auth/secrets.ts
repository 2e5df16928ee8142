import { hash, randomBytes } from "node:crypto";

/** 32 symbols of five bits each, without easily confused letters and digits. */
const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";
const LENGTH = 32;

/**
 * Generates an API key: `lg_` and 160 random bits, in letters and digits that a double click
 * selects and that need no escaping in URLs and forms.
 */
export function generateApiKey(): string {
  let secret = "lg_";
  for (const byte of randomBytes(LENGTH)) secret += ALPHABET[byte & 31];
  return secret;
}

const GENERATED_API_KEY = new RegExp(`^lg_[${ALPHABET}]{${LENGTH}}$`);

/** Whether a secret has the form of a generated API key. Such keys cannot be guessed. */
export function isGeneratedApiKey(secret: string): boolean {
  return GENERATED_API_KEY.test(secret);
}

const SECRET_BYTES = 32;
const GENERATED_SECRET = /^[\w-]{43}$/;

/** Generates a secret of 256 random bits, for a cookie or a URL. */
export function generateSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/** Whether a text has the form of {@link generateSecret}. */
export function isGeneratedSecret(text: string): boolean {
  return GENERATED_SECRET.test(text);
}

/** Generates a hook secret in the format of Standard Webhooks: 256 random bits in base64. */
export function generateHookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/**
 * Hashes an API key or a generated secret for storage. These are too random to be brute-forced, so
 * a fast hash suffices.
 */
export function hashSecret(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** Generates a permanent id of 16 lower-case hex digits. */
export function generateId(): string {
  return randomBytes(8).toString("hex");
}
