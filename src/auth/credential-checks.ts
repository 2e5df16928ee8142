import { LoggiaError } from "../errors.ts";
import { characters, fold, wellFormed } from "../events/text.ts";

/** Length of a key chosen by an operator; generated keys are longer. */
export const API_KEY_LENGTH = { least: 8, most: 200 } as const;
/** In Unicode code points. */
export const PASSWORD_LENGTH = { least: 8, most: 200 } as const;

const MAX_EMAIL_BYTES = 254;

/**
 * No colon, which would end the user name in Basic credentials. One-label domains such as localhost
 * are valid.
 */
const EMAIL =
  /^[^\s@:"(),;<>[\]\\\p{Cc}]{1,64}@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,62})(?:\.[\p{L}\p{N}][\p{L}\p{M}\p{N}-]{0,62})*$/u;

/** Returns the address in NFC. @throws LoggiaError `bad_parameter`, like all checks in this file */
export function checkEmail(email: string): string {
  const normal = typeof email === "string" ? email.normalize("NFC") : "";
  if (EMAIL.test(normal) && normal.isWellFormed() && Buffer.byteLength(normal) <= MAX_EMAIL_BYTES) return normal;
  throw malformed(
    "The field email must be an e-mail address such as ann@example.org, " +
      `of at most ${MAX_EMAIL_BYTES} bytes, without blanks or colons`,
  );
}

/** Whether an account with this e-mail address can exist. */
export function isEmail(email: string): boolean {
  return email.length <= MAX_EMAIL_BYTES && EMAIL.test(email.normalize("NFC"));
}

/** Returns the same text for all spellings of an e-mail address that name one account. */
export function foldEmail(email: string): string {
  return fold(email.normalize("NFC"));
}

export function checkPassword(password: string): void {
  const { least, most } = PASSWORD_LENGTH;
  const isShort = typeof password === "string" && password.length <= 2 * most;
  const length = isShort ? characters(wellFormed(password)) : Infinity;
  if (length >= least && length <= most) return;
  throw malformed(`The field password must have ${least} to ${most} characters`);
}

/** Checks the secret of an API key that an operator chose. */
export function checkApiKey(secret: string): void {
  const { least, most } = API_KEY_LENGTH;
  if (/^[\x21-\x7e]+$/.test(secret) && secret.length >= least && secret.length <= most) return;
  throw malformed(`The field apiKey must have ${least} to ${most} printable ASCII characters, without blanks`);
}

function malformed(message: string): LoggiaError {
  return new LoggiaError("bad_parameter", message);
}
