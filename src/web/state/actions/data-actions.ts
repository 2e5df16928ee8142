import type { App } from "../app.ts";
import { actWith } from "../../parts/controls/act-with.ts";
import type { EventActions } from "../../parts/event/event-actions.ts";

/** Returns the actions that read an event's data and copy values. */
export function dataActions(app: App, log: string): Pick<EventActions, "readData" | "openPage" | "copyValue"> {
  const { client } = app;
  const pathOf = (id: string): string => `/1/logs/${log}/events/${id}/data`;
  return {
    copyValue: (value) =>
      actWith(app, "Not copied", import("./copy-actions.ts"), ({ copyValue }) => copyValue(app, value)),
    readData: async ({ id }) => (await client.request<string>(pathOf(id))).body,
    openPage: async ({ id }) => {
      const path = `${pathOf(id)}?fmt=html`;
      const ticket = await client.request<{ ticket: string }>("/1/session/tickets", { method: "POST", json: { path } });
      return `${path}&ticket=${encodeURIComponent(ticket.body.ticket)}`;
    },
  };
}
