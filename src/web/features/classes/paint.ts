import "../../css/levels.css";
import { effect } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import type { ClassRegistry, Classes } from "../../state/class-registry.ts";
import { colorDeclarations } from "./colors.ts";
import type { Rgb } from "./oklch.ts";
import { createColorParser } from "./parse-color.ts";

/**
 * Returns the rules that colour elements with `data-class`: for the open log, and within `data-log`
 * for the log named there. Text typed by people never reaches the rules.
 */
export function classRules(classes: Classes, open: string, parse: (color: string) => Rgb | null): readonly string[] {
  return [...classes].flatMap(([log, records]) =>
    records.flatMap(({ key, color }) => {
      const parsed = parse(color);
      if (parsed === null) return [];
      const chosen = `[data-class="${escape(key)}"]`;
      const within = `[data-log="${escape(log)}"]`;
      const selectors = [`${within} ${chosen}`, `${within}${chosen}`, ...(log === open ? [chosen] : [])];
      return [`@media (forced-colors: none) { ${selectors.join(", ")} { ${colorDeclarations(parsed)} } }`];
    }),
  );
}

/** Keeps a style sheet of the document up to date with the classes and the open log. */
export function paintClasses(
  document: Document,
  { byLog }: ClassRegistry,
  open: ReadonlySignal<string>,
  parse: (color: string) => Rgb | null = createColorParser(),
): () => void {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return effect(() => {
    const rules = classRules(byLog.value, open.value, parse);
    while (sheet.cssRules.length > 0) sheet.deleteRule(0);
    for (const rule of rules) sheet.insertRule(rule, sheet.cssRules.length);
  });
}

/** Escapes a key. Keys are `[a-z0-9-]`; anything else stays within the quotes. */
function escape(key: string): string {
  return key.replaceAll(/[^a-z0-9-]/gi, (sign) => `\\${sign.codePointAt(0)!.toString(16)} `);
}
