import type { App } from "../app.ts";

/**
 * Shows how to send a log its first event, where the address asks for the whole log and the log has
 * no event at all.
 */
export async function guideIfEmpty({ client, location }: App, log: string): Promise<void> {
  const place = location.place.peek();
  if (place.screen !== "search" || place.parameters.size > 0) return;
  const { body } = await client.ask<readonly unknown[]>(`/1/logs/${log}/events`, { query: { pagesize: "1" } });
  if (body.length === 0 && location.place.peek() === place) location.amend({ screen: "first-run", log });
}
