/** 1, 2 or 5 times a power of ten, no less than a positive number. */
export function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number));
  return power * ([1, 2, 5].find((factor) => factor * power >= number) ?? 10);
}

/** A text of at most so many characters, with `…` for what is left out. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** `1 event`, `12,480 events`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/** `12,480` or `0.125`: thousands apart, at most three decimals. The browser's own formats take long to load. */
export function formatNumber(number: number): string {
  const [whole = "", ...fraction] = String(Math.round(number * 1000) / 1000).split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...fraction].join(".");
}
