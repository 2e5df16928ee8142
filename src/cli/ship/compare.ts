import type { ByteSource } from "./byte-source.ts";

const CHUNK_BYTES = 64 * 1024;
const SAMPLE_BYTES = 4 * 1024;

/** Compares two contents: whether one is the other, or only its beginning. */
export async function compareContents(a: ByteSource, b: ByteSource): Promise<"equal" | "beginning" | "different"> {
  for (let at = 0; ;) {
    const bytes = await a.read(at, CHUNK_BYTES);
    const others = await b.read(at, Math.max(bytes.length, 1));
    if (bytes.length === 0) return others.length === 0 ? "equal" : "beginning";
    if (!others.equals(bytes)) return "different";
    at += bytes.length;
  }
}

/** Whether a file seems to hold the beginning of another, or all of it, judged by samples. */
export async function seemsBeginningOf(a: ByteSource, b: ByteSource): Promise<boolean> {
  const size_bytes = await sizeOf(a);
  if (size_bytes === 0 || size_bytes > (await sizeOf(b))) return false;
  for (const at of [0, Math.max(size_bytes - SAMPLE_BYTES, 0)]) {
    const bytes = await a.read(at, Math.min(SAMPLE_BYTES, size_bytes - at));
    if (!(await b.read(at, bytes.length)).equals(bytes)) return false;
  }
  return true;
}

/** Returns the size of a content; an archive is read to its end. */
async function sizeOf(source: ByteSource): Promise<number> {
  for (let at = 0; (await source.size()) === Infinity; at += CHUNK_BYTES) await source.read(at, CHUNK_BYTES);
  return source.size();
}
