import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfDocument } from "../document.ts";
import { isObject, parseExactly, withoutMark } from "../json.ts";
import { linesOf } from "../lines.ts";
import type { ProducerEvent } from "../protocol.ts";

const NO_ATTRIBUTES: ProducerEvent["attributes"] = new Map();

/**
 * The events of a body with one event a line. Blank lines are none.
 * @param json whether lines that are objects of JSON are read as such; others stay text
 * @throws LoggiaError `bad_body` where there is no event
 */
export function* decodeLines(body: Buffer, json: boolean, choice: FieldChoice): Generator<ProducerEvent> {
  let count = 0;
  for (const line of linesOf(withoutMark(body))) {
    if (line.trim() === "") continue;
    count += 1;
    yield (json ? eventOfJson(line, choice) : null) ?? eventOfText(line);
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must hold at least one line that is not blank");
}

function eventOfJson(line: string, choice: FieldChoice): ProducerEvent | null {
  if (!line.trimStart().startsWith("{")) return null;
  let document: unknown;
  try {
    document = parseExactly(line);
  } catch {
    return null;
  }
  return isObject(document) ? eventOfDocument(document, choice) : null;
}

function eventOfText(text: string): ProducerEvent {
  return {
    text,
    severity: null,
    source: "",
    user: "",
    link: "",
    geo: null,
    tags: [],
    time: null,
    attributes: NO_ATTRIBUTES,
  };
}
