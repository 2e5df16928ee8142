import type { App } from "../app.ts";
import type { EventActs } from "./event-acts.ts";

/** Reads the data of events of a log. */
export function dataActs({ client }: App, log: string): Pick<EventActs, "readData" | "openPage"> {
  const pathOf = (id: string): string => `/1/logs/${log}/events/${id}/data`;
  return {
    readData: async ({ id }) => (await client.ask<string>(pathOf(id))).body,
    openPage: async ({ id }) => {
      const path = `${pathOf(id)}?fmt=html`;
      const ticket = await client.ask<{ ticket: string }>("/1/session/tickets", { method: "POST", json: { path } });
      return `${path}&ticket=${encodeURIComponent(ticket.body.ticket)}`;
    },
  };
}
