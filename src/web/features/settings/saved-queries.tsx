import type { JSX } from "preact";

import type { SavedQuery } from "../../parts/api/types.ts";
import { NameText, TextPieces } from "../../parts/text/pieces.tsx";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { PaneHead, Records } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

/** The saved queries of a log: the account's own and those that others share. */
export function SavedQueriesPane({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/queries`;
  const queries = useResource<readonly SavedQuery[]>(app, path);
  const { fault, act } = useAction();
  const own = app.session.account.value?.email;
  const change = (name: string, options: { method: "PUT" | "DELETE"; json?: unknown }) =>
    act(async () => {
      await app.client.request(`${path}/${encodeURIComponent(name)}`, options);
      await queries.reload();
    });
  return (
    <>
      <PaneHead title="Saved queries" fault={fault.value}>
        Save a query beside its result. A shared one can be used by everyone who reads {log}.
      </PaneHead>
      <Records
        caption={`Saved queries of the log ${log}`}
        resource={queries}
        columns={["Name", "Query", "Of"]}
        empty="No query was saved yet."
        renderRow={(saved) => (
          <tr key={`${saved.owner} ${saved.name}`}>
            <td>
              <a href={app.location.link({ screen: "search", log, parameters: new Map([["q", saved.query]]) })}>
                <NameText text={saved.name} />
              </a>
            </td>
            <td>
              <code class="query">
                <TextPieces text={saved.query} keepLines />
              </code>
            </td>
            <td>{saved.owner === own ? (saved.shared ? "You, shared" : "You") : saved.owner}</td>
            <td class="act">
              {saved.owner === own && (
                <>
                  <button
                    class="quiet"
                    type="button"
                    onClick={() =>
                      change(saved.name, {
                        method: "PUT",
                        json: { query: saved.query, tz: saved.tz, shared: !saved.shared },
                      })
                    }
                  >
                    {saved.shared ? "Stop sharing" : "Share"}
                  </button>
                  <ConfirmButton
                    label="Remove"
                    of={saved.name}
                    question="It cannot be brought back."
                    act={() => change(saved.name, { method: "DELETE" })}
                  />
                </>
              )}
            </td>
          </tr>
        )}
      />
    </>
  );
}
