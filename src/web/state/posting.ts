import type { App } from "./app.ts";

/** Where producers post: the URL that is set, or the port of the host that serves the page. @throws ApiFault */
export async function readPostingUrl(app: Pick<App, "client">): Promise<string> {
  const { body } = await app.client.request<{ url: string | null; port: number }>("/manage/1/posting");
  return body.url ?? `${location.protocol}//${location.hostname}:${body.port}`;
}
