import type { JSX } from "preact";

import { Form, formValues } from "../../parts/controls/form.tsx";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { PaneHead, Records } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type AccountRecord = { readonly id: string; readonly email: string; readonly admin: boolean };

/** The accounts of the service; for service admins. */
export function AccountsPane({ app }: PartProperties): JSX.Element {
  const path = "/manage/1/accounts";
  const accounts = useResource<readonly AccountRecord[]>(app, path);
  const { fault, act } = useAction();
  const add = (form: HTMLFormElement) =>
    act(async () => {
      const { email = "", password = "", admin } = formValues(form);
      await app.client.request(path, { method: "POST", json: { email, password, admin: admin === "on" } });
      form.reset();
      await accounts.reload();
    });
  const remove = (email: string) =>
    act(async () => {
      await app.client.request(`${path}/${encodeURIComponent(email)}`, { method: "DELETE" });
      await accounts.reload();
    });
  const setPassword = (email: string, form: HTMLFormElement) =>
    act(async () => {
      const { password = "" } = formValues(form);
      await app.client.request(`${path}/${encodeURIComponent(email)}`, { method: "PUT", json: { password } });
      form.reset();
      form.closest("details")?.removeAttribute("open");
      app.toaster.show(`${email} has a new password; their sessions ended`);
    });
  return (
    <>
      <PaneHead title="Accounts" fault={fault.value}>
        Service admins make accounts and set passwords. A log is shared with an account by its own admins.
      </PaneHead>
      <Records
        caption="Accounts of the service"
        resource={accounts}
        columns={["E-mail", "May"]}
        empty="There are none."
        renderRow={({ email, admin }) => (
          <tr key={email}>
            <td>{email}</td>
            <td>{admin ? "Manages the service" : "Uses logs"}</td>
            <td class="act">
              <details>
                <summary class="quiet">New password</summary>
                <Form
                  class="new-key"
                  label={`New password of ${email}`}
                  onSubmit={(form) => {
                    setPassword(email, form);
                  }}
                >
                  <input
                    class="in"
                    name="password"
                    type="password"
                    aria-label="New password"
                    autocomplete="new-password"
                    required
                    minLength={8}
                  />
                  <button class="btn" type="submit">
                    Set
                  </button>
                </Form>
              </details>
              <ConfirmButton
                label="Remove"
                of={email}
                question={`${email} can sign in no more.`}
                act={() => remove(email)}
              />
            </td>
          </tr>
        )}
      />
      <Form class="new-key" label="New account" onSubmit={add}>
        <input class="in" name="email" type="email" aria-label="E-mail" placeholder="E-mail" required />
        <input
          class="in"
          name="password"
          type="password"
          aria-label="Password"
          placeholder="Password"
          autocomplete="new-password"
          required
          minLength={8}
        />
        <label>
          <input type="checkbox" name="admin" /> Manages the service
        </label>
        <button class="btn solid" type="submit">
          Make account
        </button>
      </Form>
    </>
  );
}
