/**
 * Parses `application/x-www-form-urlencoded` leniently: empty pairs are skipped, blanks may be
 * unencoded, a `%` that encodes nothing is literal, and invalid UTF-8 becomes U+FFFD. Never throws.
 * `get` returns the first value of a repeated field, and no field name has a special meaning.
 */
export function parseForm(form: string | Buffer): URLSearchParams {
  const text = typeof form === "string" ? form : form.toString("utf8");
  // URLSearchParams drops a leading "?", which in a form belongs to the first name.
  return new URLSearchParams(text.startsWith("?") ? `&${text}` : text);
}
