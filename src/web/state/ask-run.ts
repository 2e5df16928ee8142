import type { Answer, Client } from "../api/client.ts";
import type { FieldRecord } from "../fields/facets.ts";
import type { Run } from "./search.ts";

/** Asks LQL of the log of a run, in its zone and until it ends. @throws ApiFault; the reason of the signal */
export function askRun<Found>(
  client: Client,
  { log, zone, signal }: Pick<Run, "log" | "zone" | "signal">,
  query: string,
): Promise<Answer<readonly Found[]>> {
  return client.ask(`/1/logs/${log}/query`, { query: { query, tz: zone }, signal });
}

/** The fields that events of the range of a run have, attributes with their `@`. @throws ApiFault */
export async function readFieldsOf(
  client: Client,
  { log, moments }: Pick<Run, "log" | "moments">,
  options: { readonly signal?: AbortSignal } = {},
): Promise<readonly FieldRecord[]> {
  const query = { created: `${moments.from}:${moments.to}`, values: 0 };
  const { body } = await client.ask<readonly FieldRecord[]>(`/1/logs/${log}/fields`, { query, ...options });
  return body;
}
