import type { Service } from "../../support/service.ts";
import { send } from "../posting.ts";

export type Item = Readonly<
  Record<
    string,
    { _index: string; _id: string; status: number; result?: string; error?: { type: string; reason: string } }
  >
>;
export type Answer = { errors: boolean; items: Item[] };

export const JSON_TYPE = { "Content-Type": "application/json" };
export const NDJSON = { "Content-Type": "application/x-ndjson" };
export const lines = (...values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

export async function bulk(
  service: Pick<Service, "postUrl">,
  body: string,
  path = "/_bulk",
): Promise<{ status: number; answer: Answer }> {
  const { status, text } = await send(service, path, body, { headers: NDJSON });
  return { status, answer: JSON.parse(text) as Answer };
}

export const statuses = ({ items }: Answer) =>
  items.map((item) => [Object.keys(item)[0], Object.values(item)[0]!.status]);
