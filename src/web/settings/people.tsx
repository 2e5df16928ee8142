import type { JSX } from "preact";

import { valuesOf } from "../parts/form.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { PaneHead, Records } from "./pane.tsx";
import { useAct, useResource } from "../state/resource.ts";
import type { PartProperties } from "./part.ts";

type Share = { readonly email: string; readonly role: "admin" | "user" };

const ROLES = { user: "Reads", admin: "Reads and manages" } as const;

/** Whom a log is shared with. */
export function People({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/shares`;
  const shares = useResource<readonly Share[]>(app, path);
  const { fault, act } = useAct();
  const share = (email: string, role: string) =>
    act(async () => {
      await app.client.ask(`${path}/${encodeURIComponent(email)}`, { method: "PUT", json: { role } });
      await shares.reload();
    });
  const remove = (email: string) =>
    act(async () => {
      await app.client.ask(`${path}/${encodeURIComponent(email)}`, { method: "DELETE" });
      await shares.reload();
    });
  return (
    <>
      <PaneHead title="People" fault={fault.value}>
        Whoever a log is shared with has their own bookmarks, alerts and saved queries in it.
      </PaneHead>
      <Records
        caption={`People of the log ${log}`}
        resource={shares}
        columns={["E-mail", "May"]}
        empty="This log is shared with nobody."
        renderRow={({ email, role }) => (
          <tr key={email}>
            <td>{email}</td>
            <td>
              <select
                class="in"
                aria-label={`What ${email} may do`}
                value={role}
                onChange={(event) => share(email, event.currentTarget.value)}
              >
                {Object.entries(ROLES).map(([name, words]) => (
                  <option value={name}>{words}</option>
                ))}
              </select>
            </td>
            <td class="act">
              <ConfirmButton label="Remove" question={`${email} sees this log no more.`} act={() => remove(email)} />
            </td>
          </tr>
        )}
      />
      <form
        class="new-key"
        aria-label="Share the log"
        onSubmit={(event) => {
          event.preventDefault();
          const { email = "", role = "user" } = valuesOf(event.currentTarget);
          share(email, role);
          event.currentTarget.reset();
        }}
      >
        <label for="share-email">Share with</label>
        <input class="in" id="share-email" name="email" type="email" required placeholder="name@company.example" />
        <select class="in" name="role" aria-label="What they may do">
          {Object.entries(ROLES).map(([name, words]) => (
            <option value={name}>{words.toLowerCase()}</option>
          ))}
        </select>
        <button class="btn solid" type="submit">
          Share
        </button>
      </form>
    </>
  );
}
