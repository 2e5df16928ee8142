const LINE_FEED = 0x0a;

/** The lines of a body, without what ends them. */
export function* linesOf(body: Buffer): Generator<string> {
  for (let start = 0; start < body.length;) {
    const feed = body.indexOf(LINE_FEED, start);
    const end = feed === -1 ? body.length : feed;
    const line = body.toString("utf8", start, end);
    yield line.endsWith("\r") ? line.slice(0, -1) : line;
    start = end + 1;
  }
}
