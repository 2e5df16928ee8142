/** A message of an event stream: what happened, if anything did, and the id to resume after. */
export type Message = { readonly id: string | null; readonly event: string; readonly data: string | null };

/**
 * The messages of a `text/event-stream` as the service writes one: a line of data at most. Comments
 * are left out, and so is a message that the stream broke off amid.
 */
export async function* readMessages(body: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) yield readMessage(block);
  }
}

function readMessage(block: string): Message {
  const fields = new Map(block.split("\n").map((line): [string, string] => splitAt(line, line.indexOf(": "))));
  return { id: fields.get("id") ?? null, event: fields.get("event") ?? "", data: fields.get("data") ?? null };
}

function splitAt(line: string, colon: number): [string, string] {
  return [line.slice(0, colon), line.slice(colon + 2)];
}
