import type { App } from "../../state/app.ts";

/** Opens the first-run screen if the address asks for a whole log that has no event. */
export async function guideIfEmpty({ client, location }: App, log: string): Promise<void> {
  const place = location.place.peek();
  if (place.screen !== "search" || place.parameters.size > 0) return;
  const { body } = await client.request<readonly unknown[]>(`/1/logs/${log}/events`, { query: { pagesize: "1" } });
  if (body.length === 0 && location.place.peek() === place) location.amend({ screen: "first-run", log });
}
