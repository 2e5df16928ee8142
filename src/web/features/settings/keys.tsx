import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { Form, formValues } from "../../parts/controls/form.tsx";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { DateText, PaneHead, Records, Secret, StateDot } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type Key = {
  readonly id: string;
  readonly scope: keyof typeof SCOPES;
  readonly disabled: boolean;
  readonly created: string;
};

const SCOPES = { "write-only": "Write only", "read-only": "Read only", "read-write": "Read and write" } as const;

/** The API keys of a log: list, create, disable and remove. */
export function KeysPane({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/apiKeys`;
  const keys = useResource<readonly Key[]>(app, path);
  const { fault, act } = useAction();
  const made = useSignal<{ readonly id: string; readonly key: string } | null>(null);
  const make = (scope: string) =>
    act(async () => {
      const { body } = await app.client.request<{ id: string; key: string }>(path, { method: "POST", json: { scope } });
      made.value = body;
      await keys.reload();
    });
  const turn = ({ id, disabled }: Key) =>
    act(async () => {
      await app.client.request(`${path}/${id}`, { method: "PATCH", json: { disabled: !disabled } });
      await keys.reload();
    });
  const remove = ({ id }: Key) =>
    act(async () => {
      await app.client.request(`${path}/${id}`, { method: "DELETE" });
      await keys.reload();
    });
  return (
    <>
      <PaneHead title="Keys" fault={fault.value}>
        Programs use a key to send events to {log} and to read them. A key belongs to this log alone.
      </PaneHead>
      {made.value !== null && (
        <Secret
          title={`Key ${made.value.id} is ready. Copy it now.`}
          name="New key"
          value={made.value.key}
          onDone={() => (made.value = null)}
        />
      )}
      <Records
        caption={`Keys of the log ${log}`}
        resource={keys}
        columns={["Key", "May", "Made", "State"]}
        empty="This log has no keys. Make one to send events."
        renderRow={(key) => (
          <tr key={key.id} class={made.value?.id === key.id ? "at" : undefined}>
            <td>
              <code>{key.id}</code>
            </td>
            <td>{SCOPES[key.scope]}</td>
            <td>
              <DateText moment={key.created} />
            </td>
            <td>
              <StateDot isOn={!key.disabled}>{key.disabled ? "Off" : "On"}</StateDot>
            </td>
            <td class="act">
              <button class="quiet" type="button" onClick={() => turn(key)}>
                Turn {key.disabled ? "on" : "off"}
              </button>
              <ConfirmButton
                label="Remove"
                of={key.id}
                question="Programs with it are refused."
                act={() => remove(key)}
              />
            </td>
          </tr>
        )}
      />
      <Form
        class="new-key"
        label="New key"
        onSubmit={(form) => {
          make(formValues(form)["scope"] ?? "");
        }}
      >
        <label for="scope">A new key that may</label>
        <select class="in" id="scope" name="scope">
          {Object.entries(SCOPES).map(([scope, words]) => (
            <option value={scope}>{words.toLowerCase()}</option>
          ))}
        </select>
        <button class="btn solid" type="submit">
          Make key
        </button>
      </Form>
    </>
  );
}
