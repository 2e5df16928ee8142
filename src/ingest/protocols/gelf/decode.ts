import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../../kit/choice.ts";
import { eventOfAttributes } from "../../kit/document.ts";
import { flattenInto } from "../../kit/flatten.ts";
import type { MutableAttributes } from "../../kit/flatten.ts";
import { AT_ONCE_BYTES, withoutMark } from "../../kit/json.ts";
import { messageText } from "../../kit/message-text.ts";
import type { Steps } from "../../kit/steps.ts";
import { tagIfCut } from "../../kit/cut-tag.ts";
import { objectOfLine, readFilledLines } from "../../kit/text-lines.ts";
import type { LineObject, TextLine } from "../../kit/text-lines.ts";
import { isPending, PENDING } from "../../kit/steps.ts";
import type { ProducerEvent, ReadEvent } from "../../kit/endpoint.ts";
import { parseSeverity, severityOfSyslog } from "../../kit/severity.ts";
import { readGivenTime } from "../../kit/times.ts";

/**
 * Decodes a body of one message, or of one message per line.
 * @throws LoggiaError `bad_body` if no message is valid
 */
export function* decodeGelf(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  const bytes = withoutMark(body);
  const whole = yield* readMessage(bytes.length > AT_ONCE_BYTES ? bytes : messageText(bytes));
  if (whole !== null) return yield tagIfCut(whole.isCut, eventOfMessage(whole.value, choice));
  let count = 0;
  for (const line of readFilledLines(bytes)) {
    if (isPending(line)) {
      yield line;
      continue;
    }
    const read = yield* readMessage(line);
    if (read === null) {
      yield { fault: "a line is not a GELF message: a JSON object is expected" };
      continue;
    }
    count += 1;
    yield tagIfCut(read.isCut, eventOfMessage(read.value, choice));
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must be a GELF message, a JSON object");
}

/** Reads what is exactly one message; null if it is none, or several. */
function* readMessage(line: TextLine): Steps<LineObject | null> {
  if (typeof line === "string") return yield* objectOfLine(trimmed(line));
  let end = line.length;
  while (end > 0 && isEnd(line[end - 1]!)) if (--end % TRIMMED_BYTES === 0) yield PENDING;
  return yield* objectOfLine(line.subarray(0, end));
}

/** Bytes trimmed between two pauses. */
const TRIMMED_BYTES = 256 * 1024;

function isEnd(byte: number): boolean {
  return byte === 0 || byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

/** Removes the end of a message, which some clients mark with NUL, as on TCP. */
function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && isEnd(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** Fields defined by GELF. Names of all others begin with an underscore. */
const OWN: ReadonlySet<string> = new Set(["version", "short_message", "full_message", "timestamp", "level"]);

function eventOfMessage(message: Readonly<Record<string, unknown>>, choice: FieldChoice): ProducerEvent {
  const { short_message: short, full_message: full, timestamp, level } = message;
  const attributes: MutableAttributes = new Map();
  const extra: [string, unknown][] = [];
  for (const [name, value] of Object.entries(message)) {
    if (!OWN.has(name)) extra.push([name.startsWith("_") && name.length > 1 ? name.slice(1) : name, value]);
    else if (name === "level" && value !== null) extra.push([name, value]);
  }
  for (const [name, value] of extra) flattenInto(attributes, { [name]: value });
  const texts = [short, full].filter((text): text is string => typeof text === "string" && text.trim() !== "");
  const [text = "", more] = texts;
  const severity = severityOfSyslog(level) ?? parseSeverity(level);
  const context = { ...readGivenTime(attributes, "timestamp", timestamp), severity };
  const event = eventOfAttributes(attributes, choice, choice.text.length === 0 ? { ...context, text } : context);
  return {
    ...event,
    text: event.text === "" ? text : event.text,
    ...(more !== undefined && more !== text && { data: more }),
  };
}
