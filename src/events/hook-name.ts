const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** The route `POST …/hooks/preview` has this path. */
const RESERVED = "preview";

/** The rule for names of hooks, as error messages state it. */
export const HOOK_NAME_RULE =
  "must be 1 to 63 letters a to z, digits and hyphens, not begin with a hyphen, and not be preview";

/** The name of a hook in lower case, or null if `text` is not a valid name. */
export function parseHookName(text: string): string | null {
  const name = text.toLowerCase();
  return NAME.test(name) && name !== RESERVED ? name : null;
}
