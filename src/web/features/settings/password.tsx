import type { JSX } from "preact";

import { Form, formValues } from "../../parts/controls/form.tsx";
import { PaneHead } from "../../parts/controls/pane.tsx";
import { useAction } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

/** Changes the password of the account. This ends all of its sessions, so the page signs in again. */
export function PasswordPane({ app }: PartProperties): JSX.Element {
  const { fault, isBusy, act } = useAction();
  const email = app.session.account.value?.email ?? "";
  const change = (form: HTMLFormElement) =>
    act(async () => {
      const { next = "", again = "" } = formValues(form);
      if (next !== again) throw new Error("The two entries of the new password differ; enter the same one twice.");
      await app.client.request(`/manage/1/accounts/${encodeURIComponent(email)}`, {
        method: "PUT",
        json: { password: next },
      });
      await app.session.signIn({ email, password: next });
      form.reset();
      app.toaster.show("The password was changed; your other sessions ended");
    });
  return (
    <>
      <PaneHead title="Password" fault={fault.value}>
        A change ends all of your sessions but this one.
      </PaneHead>
      <Form class="form" onSubmit={change}>
        <input
          class="sr"
          type="email"
          autocomplete="username"
          value={email}
          tabIndex={-1}
          aria-hidden="true"
          readOnly
        />
        <div>
          <label for="next">New password</label>
          <input class="in" id="next" name="next" type="password" autocomplete="new-password" required minLength={8} />
          <p class="help">At least 8 characters.</p>
        </div>
        <div>
          <label for="again">Once more</label>
          <input class="in" id="again" name="again" type="password" autocomplete="new-password" required />
        </div>
        <div class="save">
          <button class="btn solid" type="submit" disabled={isBusy.value}>
            Change it
          </button>
        </div>
      </Form>
    </>
  );
}
