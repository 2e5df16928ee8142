import { textPattern } from "../../../events/pattern.ts";
import type { Client } from "../../parts/api/client.ts";
import { momentInLql } from "../../parts/query/clauses.ts";
import type { ListedEvent } from "../../parts/rows/row.ts";
import { cutText } from "../../parts/text/visible-text.ts";
import { sendQuery } from "../send-query.ts";
import type { Run } from "../search.ts";
import { LONGEST_VALUE } from "../../parts/event/details.ts";
import { quotedText } from "../../parts/event/conditions.ts";

/**
 * Returns the condition for events whose text follows the pattern of this one's. Of a long pattern
 * it is the beginning, as a query has few characters.
 */
export function patternCondition({ text }: Pick<ListedEvent, "text">): string {
  const pattern = textPattern(text);
  if (pattern.length <= LONGEST_VALUE) return `pattern = ${quotedText(pattern)}`;
  return `pattern CONTAINS ${quotedText(cutText(pattern, LONGEST_VALUE))}`;
}

/** Counts the events of a run's range that are like one. @throws ApiFault */
export async function countAlike(
  client: Client,
  { log, zone, moments }: Pick<Run, "log" | "zone" | "moments">,
  row: ListedEvent,
): Promise<number> {
  const range = `OCCURS(${momentInLql(moments.from)}, ${momentInLql(moments.to)})`;
  const query = `GET events WHERE ${patternCondition(row)} ${range} COLUMNS(COUNT)`;
  // It is no part of the run, so it does not end with it.
  const { signal } = new AbortController();
  const { body } = await sendQuery<{ readonly count: string }>(client, { log, zone, signal }, query);
  return Number(body[0]?.count ?? 0);
}
