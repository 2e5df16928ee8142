import type { ApiAnswer, Client } from "../parts/api/client.ts";
import type { FieldRecord } from "../parts/api/types.ts";
import type { Run } from "./search.ts";

/** Sends LQL to a run's log, with its zone and signal. @throws ApiFault; the signal's reason */
export function sendQuery<Found>(
  client: Client,
  { log, zone, signal }: Pick<Run, "log" | "zone" | "signal">,
  query: string,
): Promise<ApiAnswer<readonly Found[]>> {
  return client.request(`/1/logs/${log}/query`, { query: { query, tz: zone }, signal });
}

/** Returns the fields of events in a run's range, attributes with `@`. @throws ApiFault */
export async function readLogFields(
  client: Client,
  { log, moments }: Pick<Run, "log" | "moments">,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly FieldRecord[]> {
  const query = { created: `${moments.from}:${moments.to}`, values: 0 };
  const { body } = await client.request<readonly FieldRecord[]>(`/1/logs/${log}/fields`, { query, ...options });
  return body;
}
