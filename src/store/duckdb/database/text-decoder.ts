import accessors from "@duckdb/node-api/lib/vectors/dataAccessors.js";

/**
 * Makes the client keep a leading U+FEFF in texts. Its shared decoder would take the character for
 * a byte order mark and drop it, so that a text would be read shorter than it was stored.
 */
export function keepByteOrderMarks(): void {
  (accessors as { textDecoder: TextDecoder }).textDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
}
