import { until } from "./until.ts";

/**
 * Posts a batch under its `Idempotency-Key` until it is accepted, as producers do: a machine that
 * stalls answers 503 to a post that it could not store in time.
 * @throws Error with the answer if it is refused
 */
export async function postSurely(
  url: string,
  {
    headers,
    body,
  }: { readonly headers: Record<string, string> & { "Idempotency-Key": string }; readonly body: string },
): Promise<void> {
  const response = await until(
    async () => {
      const response = await fetch(url, { method: "POST", headers, body });
      if (response.status !== 503) return response;
      await response.arrayBuffer();
      return null;
    },
    { what: "a batch to be accepted" },
  );
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}
