import { wordAt } from "./word-at.ts";

/** Focuses the query's field and selects the word at the fault's line and column. */
export function showInQuery(fault: string, asked: string): void {
  const field = document.querySelector<HTMLTextAreaElement | HTMLInputElement>(".ask textarea, .ask input");
  field?.focus();
  const [, line, column] = /^Line (\d+), column (\d+)/.exec(fault) ?? [];
  // Positions in a text typed meanwhile differ.
  if (!(field instanceof HTMLTextAreaElement) || line === undefined || field.value !== asked) return;
  const { start, end } = wordAt(asked, Number(line), Number(column));
  field.setSelectionRange(start, end);
}
