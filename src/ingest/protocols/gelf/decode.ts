import { LoggiaError } from "../../../errors.ts";
import type { FieldChoice } from "../choice.ts";
import { eventOfAttributes } from "../document.ts";
import { flattenInto } from "../flatten.ts";
import type { Gathered } from "../flatten.ts";
import { isObject, parseExactly, withoutMark } from "../json.ts";
import { linesOf } from "../lines.ts";
import type { ProducerEvent, ReadEvent } from "../protocol.ts";
import { severityOf } from "../severity.ts";
import { timeOf } from "../times.ts";

/**
 * The messages of a body: one, or one a line.
 * @throws LoggiaError `bad_body` where the only one, or all, are none
 */
export function* decodeGelf(body: Buffer, choice: FieldChoice): Generator<ReadEvent> {
  const text = withoutMark(body);
  const whole = messageOf(trimmed(text.toString("utf8", 0, Math.min(text.length, ONE_MAX_BYTES))));
  if (whole !== null && text.length <= ONE_MAX_BYTES) {
    yield eventOfMessage(whole, choice);
    return;
  }
  let count = 0;
  for (const line of linesOf(text)) {
    if (trimmed(line) === "") continue;
    const message = messageOf(trimmed(line));
    if (message === null) {
      yield { fault: "a line is no message of GELF: an object of JSON is expected" };
      continue;
    }
    count += 1;
    yield eventOfMessage(message, choice);
  }
  if (count === 0) throw new LoggiaError("bad_body", "The body must be a message of GELF, an object of JSON");
}

/** A body beyond this is one of many lines. */
const ONE_MAX_BYTES = 1024 * 1024;

/** Some clients end a message by NUL, as on TCP. */
function trimmed(text: string): string {
  return text.replace(/[\0\s]+$/u, "");
}

function messageOf(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.trimStart().startsWith("{")) return null;
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Fields that a message has by itself: all others have an underscore before their name. */
const OWN: ReadonlySet<string> = new Set(["version", "short_message", "full_message", "timestamp", "level"]);

function eventOfMessage(message: Readonly<Record<string, unknown>>, choice: FieldChoice): ProducerEvent {
  const { short_message: short, full_message: full, timestamp, level } = message;
  const attributes: Gathered = new Map();
  const extra: [string, unknown][] = [];
  for (const [name, value] of Object.entries(message)) {
    if (!OWN.has(name)) extra.push([name.startsWith("_") && name.length > 1 ? name.slice(1) : name, value]);
    else if (name === "level" && value !== null) extra.push([name, value]);
  }
  for (const [name, value] of extra) flattenInto(attributes, { [name]: value });
  const texts = [short, full].filter((text): text is string => typeof text === "string" && text.trim() !== "");
  const [text = "", more] = texts;
  const around = { time: timeOf(timestamp), severity: severityOf(level) };
  const event = eventOfAttributes(attributes, choice, choice.text.length === 0 ? { ...around, text } : around);
  return {
    ...event,
    text: event.text === "" ? text : event.text,
    ...(more !== undefined && more !== text && { data: more }),
  };
}
