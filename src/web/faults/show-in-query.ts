import { wordAt } from "./word-at.ts";

/** Gives the query's field the focus, with the word selected that a fault names by line and column. */
export function showInQuery(fault: string, asked: string): void {
  const field = document.querySelector<HTMLTextAreaElement | HTMLInputElement>(".ask textarea, .ask input");
  field?.focus();
  const [, line, column] = /^Line (\d+), column (\d+)/.exec(fault) ?? [];
  // What was typed meanwhile has other places.
  if (!(field instanceof HTMLTextAreaElement) || line === undefined || field.value !== asked) return;
  const { start, end } = wordAt(asked, Number(line), Number(column));
  field.setSelectionRange(start, end);
}
