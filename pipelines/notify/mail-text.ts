import type { Allowance } from "./allowance.ts";
import type { Noun } from "./channels/channel.ts";
import type { Digest, Collected } from "./digest.ts";
import type { NoticeLine } from "./notice.ts";

/** Subject and text. Producers' texts are one line each, without control characters. */
export type MailText = { readonly subject: string; readonly text: string };

const SUBJECT_TEXT_MAX_CHARACTERS = 80;

/** Composes a message about the events collected for one class. */
export function describeDigest(
  { log, class: classKey }: Digest,
  { count, doubtful, lines }: Collected,
  { one }: Noun,
): MailText {
  const first = lines[0] === undefined ? "" : oneLine(lines[0].text, SUBJECT_TEXT_MAX_CHARACTERS);
  const subject = count === 1 ? `[${log}] ${classKey}: ${first}` : `[${log}] ${classKey}: ${count} events: ${first}`;
  const paragraphs = [
    `${counted(count)} of class ${classKey} in log ${log} since the last ${one}` +
      `${count > lines.length ? `, the first ${lines.length} of them` : ""}:`,
    lines.map(describeLine).join("\n"),
    ...(count > lines.length ? [`... and ${count - lines.length} more.`] : []),
    ...(doubtful > 0
      ? [`An earlier ${one} about ${counted(doubtful)} may not have reached you. All events are in the log.`]
      : []),
    `--\nYou receive this ${one} because you subscribe to this class. To unsubscribe:\nloggia notify off --log ${log} ${classKey}`,
  ];
  return { subject, text: `${paragraphs.join("\n\n")}\n` };
}

/** Composes the last message of a day. */
export function describeLimit({ day }: Allowance, most: number, { one, more }: Noun): MailText {
  return {
    subject: `No more ${more} about events on ${day}`,
    text:
      `${most} ${one}s about events were sent to you on ${day} (UTC), ` +
      "the limit of a day. This is the last one.\n\n" +
      "Events are still stored and alerts still raised. Events until midnight (UTC) are counted " +
      `and included in the first ${one}s of the next day.\n`,
  };
}

function describeLine({ created, text, source, value }: NoticeLine): string {
  const time = new Date(created).toISOString().replace("T", " ").replace("Z", " UTC");
  const from = source === "" ? "" : `  ${oneLine(source)}:`;
  const number = value === null ? "" : `  (value ${value})`;
  return `${time}${from}  ${oneLine(text)}${number}`;
}

function counted(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

/** Reduces text with line breaks, terminal escapes or direction marks to one line. */
function oneLine(text: string, characters = Infinity): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();
  const all = [...line];
  return all.length <= characters ? line : `${all.slice(0, characters).join("")}…`;
}
