import { readFileSync } from "node:fs";

/** Documentation pages of the query language. */
export const PAGES = ["lql.md", "lql-coming-from.md"] as const;

export function readPage(page: (typeof PAGES)[number]): string {
  return readFileSync(new URL(`../../docs/${page}`, import.meta.url), "utf8");
}

/** Returns the fenced blocks of a language, without their fences. */
export function blocksOf(page: string, language: string): string[] {
  return Array.from(page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)\\n\`\`\`$`, "gm")), (found) => found[1]!);
}

/** Returns all queries on the pages. */
export function examples(): string[] {
  return PAGES.flatMap((page) => blocksOf(readPage(page), "lql"));
}
