import { firstCharacters } from "./text.ts";

/** A value of a caller in the words of a fault, cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

/** `text` cut to `length` characters, with a sign that it was. */
export function shorten(text: string, length = 40): string {
  const start = firstCharacters(text, length);
  return start === text ? text : `${start}…`;
}
