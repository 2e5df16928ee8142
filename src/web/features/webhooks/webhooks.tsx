import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { HookRecord } from "../../parts/api/types.ts";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { DateText, PaneHead, Records, Secret, StateDot } from "../../parts/controls/pane.tsx";
import type { App } from "../../state/app.ts";
import { readPostingUrl } from "../../state/posting.ts";
import { useAction, useResource } from "../../parts/api/resource.ts";
import { SENDERS, senderOfHook } from "./senders.ts";
import { WebhookForm } from "./webhook-form.tsx";
import type { SavedHook } from "./webhook-form.tsx";
import "../../css/forms.css";
import "../../css/settings.css";
import "../../css/tables.css";
import "../../css/webhooks.css";

/** The webhooks of a log: list, create, change and remove. */
export function WebhooksPane({ app, log }: { readonly app: App; readonly log: string }): JSX.Element {
  const path = `/manage/1/logs/${log}/hooks`;
  const hooks = useResource<readonly HookRecord[]>(app, path);
  const { fault, act } = useAction();
  const saved = useSignal<SavedHook | null>(null);
  /** The hook in the form: null for a new one, undefined while the form is closed. */
  const edited = useSignal<HookRecord | null | undefined>(undefined);
  const post = useSignal("");
  const unknownPost = useSignal<string | null>(null);
  useEffect(() => {
    readPostingUrl(app).then(
      (url) => (post.value = url),
      (error: unknown) => (unknownPost.value = faultMessage(error)),
    );
  }, []);
  const close = (opener: string) => {
    edited.value = undefined;
    setTimeout(() => document.getElementById(opener)?.focus());
  };
  const onSaved = async (hook: SavedHook) => {
    await hooks.reload();
    saved.value = hook;
    close("main");
    document.getElementById("main")?.scrollTo(0, 0);
  };
  const remove = ({ name }: HookRecord) =>
    act(async () => {
      await app.client.request(`${path}/${name}`, { method: "DELETE" });
      if (edited.peek()?.name === name) edited.value = undefined;
      if (saved.peek()?.name === name) saved.value = null;
      await hooks.reload();
      document.getElementById("main")?.focus();
    });
  const openerOf = (hook: HookRecord | null) => (hook === null ? "new-webhook" : `change-${hook.name}`);
  const opened = edited.value;
  return (
    <>
      <PaneHead title="Webhooks" fault={fault.value ?? unknownPost.value}>
        A service such as GitHub or Grafana posts to a webhook in its own format, and its posts become events of {log}.
        The names github, alertmanager, grafana, sentry and json work at once with an API key. One that you make here
        can verify signatures and apply a template.
      </PaneHead>
      {saved.value !== null && saved.value.secret !== null && (
        <Secret
          title={`Webhook ${saved.value.name} is ready. Copy its secret now.`}
          name="New secret"
          value={saved.value.secret}
          note="Give it to the sender together with the address below. It is not shown again."
          onDone={() => (saved.value = null)}
        />
      )}
      <div class="hooks">
        <Records
          caption={`Webhooks of the log ${log}`}
          resource={hooks}
          columns={["Name", "From", "Verifies signatures", "Made"]}
          empty={
            "This log has no webhooks. A webhook is an address to which another service posts what happens there, " +
            "such as a push, an alert or a payment."
          }
          renderRow={(hook) => (
            <HookRows
              key={hook.name}
              hook={hook}
              address={`${post.value}${hook.path}`}
              isNew={saved.value?.name === hook.name}
              onChange={() => (edited.value = hook)}
              onRemove={() => remove(hook)}
            />
          )}
        />
      </div>
      {opened === undefined && hooks.value.value !== null && (
        <div class="new-key">
          <button class="btn solid" type="button" id="new-webhook" onClick={() => (edited.value = null)}>
            New webhook
          </button>
        </div>
      )}
      {opened !== undefined && (
        <WebhookForm
          key={opened?.name ?? ""}
          app={app}
          log={log}
          hook={opened}
          hooks={hooks.value.value ?? []}
          onSaved={onSaved}
          onFailed={() => void hooks.reload()}
          onClose={() => close(openerOf(opened))}
        />
      )}
    </>
  );
}

type HookRowsProperties = {
  readonly hook: HookRecord;
  readonly address: string;
  /** Whether it has just been saved. */
  readonly isNew: boolean;
  readonly onChange: () => void;
  readonly onRemove: () => void;
};

/** A hook in two rows: its settings, and the address to enter at the sender, with what can be done. */
function HookRows({ hook, address, isNew, onChange, onRemove }: HookRowsProperties): JSX.Element {
  const { name, signature, created } = hook;
  const at = isNew ? "at" : "";
  return (
    <>
      <tr class={`${at} over`}>
        <td>
          <code>{name}</code>
        </td>
        <td>{SENDERS[senderOfHook(hook)].label}</td>
        <td>
          <StateDot isOn={signature !== "none"}>{signature === "none" ? "No, needs a key" : "Yes"}</StateDot>
        </td>
        <td colSpan={2}>
          <DateText moment={created} />
        </td>
      </tr>
      <tr class={`${at} address`}>
        <td colSpan={5} class="act">
          <div>
            <code>{address}</code>
            <CopyButton class="btn small" text={address} of={`the address of ${name}`} />
            <span class="space" />
            <button class="quiet" type="button" id={`change-${name}`} aria-label={`Change ${name}`} onClick={onChange}>
              Change
            </button>
            <ConfirmButton label="Remove" of={name} question="Its sender will be refused." act={onRemove} />
          </div>
        </td>
      </tr>
    </>
  );
}
