import { DAY_MS } from "../../query/calendar.ts";
import { parseMoment } from "../parts/api/types.ts";
import type { App } from "./app.ts";
import type { Moments } from "../parts/query/range.ts";
import type { Run } from "./search.ts";

/** Returns moments from the log's first event on; bars from 1970 on would be months wide. */
export async function sinceFirstEvent({ client }: App, { log, moments: { to }, signal }: Run): Promise<Moments> {
  const { body } = await client.request<readonly { readonly created: string }[]>(`/1/logs/${log}/query`, {
    query: { query: "GET events TAKE 1 COLUMNS(created)" },
    signal,
  });
  const [first] = body;
  // Producers' clocks may be minutes ahead.
  return { from: first === undefined ? to - DAY_MS : Math.min(parseMoment(first.created), to - 1), to };
}
