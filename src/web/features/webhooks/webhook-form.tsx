import { useSignal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../../parts/api/client.ts";
import type { HookRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { Form } from "../../parts/controls/form.tsx";
import { useAction } from "../../parts/api/resource.ts";
import {
  draftOfHook,
  isSameHook,
  nameFault,
  newHookDraft,
  placeFault,
  hookSettings,
  showsTemplate,
  withSender,
} from "./draft.ts";
import type { HookDraft, FieldFault } from "./draft.ts";
import { Field } from "./field.tsx";
import { SecretFields } from "./secret-fields.tsx";
import { SENDERS, SIGNATURES } from "./senders.ts";
import type { SenderKey } from "./senders.ts";
import { TemplateFields } from "./template-fields.tsx";
import { templateOfTexts } from "./template.ts";
import { WebhookPreview } from "./webhook-preview.tsx";

/** The response to a change. `secret` is the drawn one, returned only this once, or null. */
export type SavedHook = HookRecord & { readonly secret: string | null };

const SENDER_LABELS = Object.fromEntries(Object.entries(SENDERS).map(([key, { label }]) => [key, label])) as Readonly<
  Record<SenderKey, string>
>;
const CHANGED_ELSEWHERE =
  "This webhook was changed elsewhere since you opened it. Cancel and open it again to see how it is now, or save " +
  "again to replace that.";
const TOO_LARGE = "These settings are too long to be saved";

type WebhookFormProperties = {
  readonly app: App;
  readonly log: string;
  /** null: a new one. */
  readonly hook: HookRecord | null;
  readonly hooks: readonly HookRecord[];
  readonly onSaved: (hook: SavedHook) => Promise<void>;
  /** Called when a save failed: the list may be out of date, or the failed save may have taken effect. */
  readonly onFailed: () => void;
  readonly onClose: () => void;
};

/** Creates a hook, or changes everything but the name of one. */
export function WebhookForm(properties: WebhookFormProperties): JSX.Element {
  const { app, log, hook, hooks, onClose } = properties;
  const isNew = hook === null;
  const draft = useSignal<HookDraft>(hook === null ? newHookDraft("github", hooks) : draftOfHook(hook));
  /** Fault of the last save; fault of the template as it is typed. */
  const refused = useSignal<FieldFault | null>(null);
  const wrongTemplate = useSignal<FieldFault | null>(null);
  const { fault, isBusy, act } = useAction();
  const save = useHookSave(properties, draft, refused);
  useEffect(() => focusField("webhook-sender"), []);
  const change = (changed: Partial<HookDraft>) => {
    refused.value = null;
    draft.value = { ...draft.peek(), ...changed };
  };
  const { sender, name, signature, template } = draft.value;
  const wrongName = isNew ? nameFault(name, log, hooks) : null;
  const faultOf = (field: string) => (refused.value?.field === field ? refused.value.words : null);
  return (
    <section class="webhook" aria-labelledby="webhook-title">
      <h2 id="webhook-title">{isNew ? "New webhook" : `Change ${hook.name}`}</h2>
      <Form class="form" onSubmit={() => act(save)}>
        <Choice
          id="webhook-sender"
          label="From"
          value={sender}
          options={SENDER_LABELS}
          help={SENDERS[sender].help}
          onChange={(key) => change(withSender(draft.peek(), key, hooks, isNew))}
        />
        {isNew && (
          <Field
            id="webhook-name"
            label="Name"
            value={name}
            isRequired
            help="Letters a to z, digits and hyphens. It is part of the address and never changes."
            fault={faultOf("name") ?? wrongName}
            onInput={(text) => change({ name: text })}
          />
        )}
        <Choice
          id="webhook-signature"
          label="Signature to verify"
          value={signature}
          options={SIGNATURES}
          help={
            signature === "none"
              ? "The sender needs an API key that can write: ?apikey= in the address, or Authorization: Bearer."
              : "A request without a valid signature is refused, whatever API key it carries."
          }
          onChange={(key) => change({ signature: key })}
        />
        {signature !== "none" && (
          <SecretFields
            draft={draft.value}
            hasSecret={hook !== null && hook.signature !== "none"}
            fault={faultOf("secret")}
            onChange={change}
          />
        )}
        {showsTemplate(draft.value) && (
          <TemplateFields
            template={template}
            fault={wrongTemplate.value ?? refused.value}
            onChange={(changed) => change({ template: changed })}
          />
        )}
        <WebhookPreview
          app={app}
          log={log}
          kind={SENDERS[sender].kind}
          template={templateOfTexts(template, hook?.template ?? null)}
          example={SENDERS[sender].example}
          onTemplateFault={(found) => (wrongTemplate.value = found)}
        />
        {fault.value !== null && (
          <p class="err" role="alert">
            {fault.value}
          </p>
        )}
        <SaveButtons isNew={isNew} isBusy={isBusy.value} onClose={onClose} />
      </Form>
    </section>
  );
}

/**
 * Returns a function that saves the draft. A fault of a field is set in `refused`, and the field
 * gets the focus; other faults are thrown.
 */
function useHookSave(
  { app, log, hook, hooks, onSaved, onFailed }: WebhookFormProperties,
  draft: ReadonlySignal<HookDraft>,
  refused: Signal<FieldFault | null>,
): () => Promise<void> {
  /** The settings that a save replaces, as the user has seen them or has been told of. */
  const before = useSignal(hook);
  const path = `/manage/1/logs/${log}/hooks`;
  const send = async (): Promise<SavedHook> => {
    const { name } = draft.peek();
    const json = hookSettings(draft.peek(), hook);
    if (hook === null)
      return (await app.client.request<SavedHook>(path, { method: "POST", json: { name, ...json } })).body;
    const { body: current } = await app.client.request<HookRecord>(`${path}/${hook.name}`);
    const isSeen = isSameHook(current, before.peek()!);
    before.value = current;
    if (!isSeen) throw new Error(CHANGED_ELSEWHERE);
    return (await app.client.request<SavedHook>(`${path}/${hook.name}`, { method: "PUT", json })).body;
  };
  return async () => {
    if (hook === null && nameFault(draft.peek().name, log, hooks) !== null) return focusField("webhook-name");
    try {
      await onSaved(await send());
    } catch (error) {
      onFailed();
      if (error instanceof ApiFault && error.code === "body_too_large") throw new Error(TOO_LARGE, { cause: error });
      const placed = placeFault(error);
      if (placed === null) throw error;
      refused.value = placed;
      focusField(idOfField(placed.field));
    }
  };
}

/** A list of choices with its label and help. */
function Choice<Key extends string>(properties: {
  readonly id: string;
  readonly label: string;
  readonly value: Key;
  readonly options: Readonly<Record<Key, string>>;
  readonly help: string;
  readonly onChange: (key: Key) => void;
}): JSX.Element {
  const { id, label, value, options, help, onChange } = properties;
  return (
    <div>
      <label for={id}>{label}</label>
      <select
        class="in"
        id={id}
        aria-describedby={`${id}-help`}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value as Key)}
      >
        {Object.entries<string>(options).map(([key, text]) => (
          <option value={key}>{text}</option>
        ))}
      </select>
      <p class="help" id={`${id}-help`}>
        {help}
      </p>
    </div>
  );
}

function SaveButtons(properties: {
  readonly isNew: boolean;
  readonly isBusy: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const { isNew, isBusy, onClose } = properties;
  return (
    <div class="save">
      <button class="btn solid" type="submit" disabled={isBusy}>
        {isNew ? "Make webhook" : "Save webhook"}
      </button>
      <button class="btn" type="button" onClick={onClose}>
        Cancel
      </button>
    </div>
  );
}

function idOfField(field: string): string {
  const [first, second] = field.split(".");
  return first === "template" ? `template-${second ?? "text"}` : `webhook-${field}`;
}

function focusField(id: string): void {
  document.getElementById(id)?.focus();
}
