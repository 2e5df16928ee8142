import type { JSX } from "preact";

import { Form, formValues } from "../../parts/controls/form.tsx";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { PaneHead, Records } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type Share = { readonly email: string; readonly role: "admin" | "user" };

const ROLES = { user: "Reads", admin: "Reads and manages" } as const;

/** The accounts that a log is shared with, and their roles. */
export function PeoplePane({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/shares`;
  const shares = useResource<readonly Share[]>(app, path);
  const { fault, act } = useAction();
  const share = (email: string, role: string) =>
    act(async () => {
      await app.client.request(`${path}/${encodeURIComponent(email)}`, { method: "PUT", json: { role } });
      await shares.reload();
    });
  const remove = (email: string) =>
    act(async () => {
      await app.client.request(`${path}/${encodeURIComponent(email)}`, { method: "DELETE" });
      await shares.reload();
    });
  return (
    <>
      <PaneHead title="People" fault={fault.value}>
        Each person has bookmarks, alerts and saved queries of their own in the log.
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
              <ConfirmButton
                label="Remove"
                of={email}
                question={`${email} sees this log no more.`}
                act={() => remove(email)}
              />
            </td>
          </tr>
        )}
      />
      <Form
        class="new-key"
        label="Share the log"
        onSubmit={(form) => {
          const { email = "", role = "user" } = formValues(form);
          share(email, role);
          form.reset();
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
      </Form>
    </>
  );
}
