/** The texts of a form by the names of its fields; a box that is not ticked has none. */
export function valuesOf(form: HTMLFormElement): Readonly<Record<string, string>> {
  const entries = [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(entries);
}
