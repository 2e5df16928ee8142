import type { JSX } from "preact";

import { MomentText, PaneHead, Records } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type SessionRecord = {
  readonly id: string;
  readonly created: string;
  readonly seen: string;
  readonly address: string;
  readonly agent: string;
  readonly current: boolean;
};

/** The sessions of the account. */
export function SessionsPane({ app }: PartProperties): JSX.Element {
  const sessions = useResource<readonly SessionRecord[]>(app, "/1/sessions");
  const { fault, act } = useAction();
  const end = ({ id, current }: SessionRecord) =>
    act(async () => {
      if (current) return app.session.signOut();
      await app.client.request(`/1/sessions/${id}`, { method: "DELETE" });
      return sessions.reload();
    });
  return (
    <>
      <PaneHead title="Sessions" fault={fault.value}>
        Each browser that you are signed in with. A session ends after 12 hours without use, and after 7 days in all.
      </PaneHead>
      <Records
        caption="Your sessions"
        resource={sessions}
        columns={["Browser", "Address", "Begun", "Last used"]}
        empty="There are none."
        renderRow={(session) => (
          <tr key={session.id} class={session.current ? "at" : undefined}>
            <td title={session.agent}>{browserName(session.agent)}</td>
            <td>
              <code>{session.address}</code>
            </td>
            <td>
              <MomentText moment={session.created} />
            </td>
            <td>{session.current ? "This one" : <MomentText moment={session.seen} />}</td>
            <td class="act">
              <button class="quiet" type="button" onClick={() => end(session)}>
                {session.current ? "Sign out" : "End"}
              </button>
            </td>
          </tr>
        )}
      />
    </>
  );
}

/** Describes a User-Agent, such as `Firefox on Linux`. Unknown ones are returned unchanged. */
export function browserName(agent: string): string {
  const browser = [
    ["Edge", /Edg\//],
    ["Opera", /OPR\//],
    ["Firefox", /Firefox\//],
    ["Chrome", /Chrom(e|ium)\//],
    ["Safari", /Safari\//],
  ].find(([, pattern]) => (pattern as RegExp).test(agent))?.[0] as string | undefined;
  const system = [
    ["Android", /Android/],
    ["iOS", /iPhone|iPad/],
    ["Windows", /Windows/],
    ["macOS", /Mac OS/],
    ["Linux", /Linux/],
  ].find(([, pattern]) => (pattern as RegExp).test(agent))?.[0] as string | undefined;
  if (browser === undefined) return agent === "" ? "Unknown" : agent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
