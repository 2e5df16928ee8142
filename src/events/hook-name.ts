const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** What a name of a hook must be, to be told to whoever gave another one. */
export const HOOK_NAME_RULE = "must be 1 to 63 letters a to z, digits and hyphens, and not begin with a hyphen";

/** The name of a hook that `text` spells, in lower case, or null where it spells none. */
export function parseHookName(text: string): string | null {
  const name = text.toLowerCase();
  return NAME.test(name) ? name : null;
}
