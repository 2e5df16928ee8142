import { readFileSync } from "node:fs";

/** A block of code in a document. */
export type Snippet = { readonly language: string; readonly code: string };

const ROOT = new URL("../../", import.meta.url);

/** Returns the blocks of code in a document, in order. @param path below the project's folder */
export function snippetsOf(path: string): readonly Snippet[] {
  const text = readFileSync(new URL(path, ROOT), "utf8");
  return [...text.matchAll(/^```(?<language>\w*)\n(?<code>.*?)^```$/gms)].map(({ groups }) => ({
    language: groups!["language"]!,
    code: groups!["code"]!,
  }));
}

/**
 * Returns the code of the nth block in a language, with each part replaced.
 * @throws Error if there is no such block, or it does not contain a part
 */
export function snippetOf(
  path: string,
  language: string,
  { n = 0, replace = {} }: { readonly n?: number; readonly replace?: Readonly<Record<string, string>> } = {},
): string {
  const snippet = snippetsOf(path).filter((each) => each.language === language)[n];
  if (snippet === undefined) throw new Error(`${path} has no block ${n} in ${language}`);
  return Object.entries(replace).reduce((code, [part, by]) => {
    if (!code.includes(part)) throw new Error(`${part} is not in block ${n} in ${language} of ${path}`);
    return code.replaceAll(part, by);
  }, snippet.code);
}
