/** A message of an event stream: the event, if there is one, and the id to resume after. */
export type StreamMessage = { readonly id: string | null; readonly event: string; readonly data: string | null };

/**
 * Parses a `text/event-stream` as the service writes it, with at most one data line per message.
 * Comments are skipped, and so is a truncated last message.
 */
export async function* readMessages(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield readMessage(block);
  }
}

function readMessage(block: string): StreamMessage {
  const fields = new Map(block.split("\n").map((line): [string, string] => splitAt(line, line.indexOf(": "))));
  return { id: fields.get("id") ?? null, event: fields.get("event") ?? "", data: fields.get("data") ?? null };
}

function splitAt(line: string, colon: number): [string, string] {
  return [line.slice(0, colon), line.slice(colon + 2)];
}
