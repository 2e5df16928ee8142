import { firstCharacters } from "./text.ts";

/** Quotes a caller's value for an error message, and shortens it if it is long. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

/** Returns `text` cut to `length` characters, with an ellipsis if it was cut. */
export function shorten(text: string, length = 40): string {
  const start = firstCharacters(text, length);
  return start === text ? text : `${start}…`;
}
