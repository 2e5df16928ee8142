const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/;

export function numberOf(text: string): number | null {
  const trimmed = text.trim();
  const number = DECIMAL.test(trimmed) ? Number(trimmed) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}
