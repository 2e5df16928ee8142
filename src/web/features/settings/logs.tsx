import type { JSX } from "preact";

import type { LogRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { Form, formValues } from "../../parts/controls/form.tsx";
import { PaneHead } from "../../parts/controls/pane.tsx";
import { useAction } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

/** The logs that the account can read, and a form that creates one. */
export function LogsPane({ app }: PartProperties): JSX.Element {
  const { fault, act } = useAction();
  const make = (form: HTMLFormElement) =>
    act(async () => {
      const { key = "", display = "" } = formValues(form);
      const { body } = await app.client.request<{ readonly key: string }>("/1/logs", {
        method: "POST",
        form: { key, display },
      });
      await removeKeys(app, body.key);
      app.logs.value = (await app.client.request<readonly LogRecord[]>("/manage/1/logs")).body;
      app.location.go({ screen: "first-run", log: body.key });
    });
  return (
    <>
      <PaneHead title="Logs" fault={fault.value}>
        A log has its own events, keys, classes and people. The person who makes a log manages it.
      </PaneHead>
      <table class="table">
        <caption class="sr">Your logs</caption>
        <thead>
          <tr>
            <th scope="col">Log</th>
            <th scope="col">Name</th>
            <th scope="col">You may</th>
          </tr>
        </thead>
        <tbody>
          {(app.logs.value ?? []).map(({ key, display, role }) => (
            <tr key={key}>
              <td>
                <a href={app.location.link({ screen: "search", log: key })}>{key}</a>
              </td>
              <td>{display}</td>
              <td>{role === "admin" ? "Read and manage it" : "Read it"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <Form class="new-key" label="New log" onSubmit={make}>
        <input
          class="in"
          name="key"
          aria-label="Key, as in addresses"
          placeholder="key"
          required
          pattern="[A-Za-z0-9][A-Za-z0-9\-]{0,62}"
          title="Letters, digits and hyphens"
        />
        <input class="in" name="display" aria-label="Name" placeholder="Name" required maxLength={200} />
        <button class="btn solid" type="submit">
          Make log
        </button>
      </Form>
    </>
  );
}

/**
 * Removes the key that a log is created with. Nobody was shown its secret, and the guide to the
 * first event makes one that is.
 */
async function removeKeys({ client }: App, log: string): Promise<void> {
  const path = `/manage/1/logs/${log}/apiKeys`;
  const { body } = await client.request<readonly { readonly id: string }[]>(path);
  for (const { id } of body) await client.request(`${path}/${id}`, { method: "DELETE" });
}
