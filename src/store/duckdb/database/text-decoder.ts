import accessors from "@duckdb/node-api/lib/vectors/dataAccessors.js";

/**
 * The client reads every text with one decoder, which takes a U+FEFF at the beginning for a byte
 * order mark and drops it: texts came back shorter than they were stored. This one keeps it.
 */
export function keepByteOrderMarks(): void {
  (accessors as { textDecoder: TextDecoder }).textDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
}
