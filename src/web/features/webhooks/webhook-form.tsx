import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../../parts/api/client.ts";
import type { HookRecord, HookSignature } from "../../parts/api/types.ts";
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

const CHANGED_ELSEWHERE =
  "This webhook was changed elsewhere since you opened it. Cancel and open it again to see how it is now, or save " +
  "again to replace that.";
const TOO_LARGE = "These settings are too long to be saved";

/** Creates a hook, or changes everything but the name of one. */
export function WebhookForm(properties: {
  readonly app: App;
  readonly log: string;
  /** null: a new one. */
  readonly hook: HookRecord | null;
  readonly hooks: readonly HookRecord[];
  readonly onSaved: (hook: SavedHook) => Promise<void>;
  /** Called when a save failed: the list may be out of date, or the failed save may have taken effect. */
  readonly onFailed: () => void;
  readonly onClose: () => void;
}): JSX.Element {
  const { app, log, hook, hooks, onSaved, onFailed, onClose } = properties;
  const isNew = hook === null;
  const draft = useSignal<HookDraft>(hook === null ? newHookDraft("github", hooks) : draftOfHook(hook));
  /** The settings that a save replaces, as the user has seen them or has been told of. */
  const before = useSignal(hook);
  /** Fault of the last save; fault of the template as it is typed. */
  const refused = useSignal<FieldFault | null>(null);
  const wrongTemplate = useSignal<FieldFault | null>(null);
  const { fault, isBusy, act } = useAction();
  useEffect(() => focusField("webhook-sender"), []);
  const change = (changed: Partial<HookDraft>) => {
    refused.value = null;
    draft.value = { ...draft.peek(), ...changed };
  };
  const { sender, name, signature, template } = draft.value;
  const wrongName = isNew ? nameFault(name, log, hooks) : null;
  const faultOf = (field: string) => (refused.value?.field === field ? refused.value.words : null);
  const save = () =>
    act(async () => {
      if (wrongName !== null) return focusField("webhook-name");
      const path = `/manage/1/logs/${log}/hooks`;
      const settings = hookSettings(draft.value, hook);
      try {
        if (hook !== null) {
          const { body: current } = await app.client.request<HookRecord>(`${path}/${hook.name}`);
          const isSeen = isSameHook(current, before.peek()!);
          before.value = current;
          if (!isSeen) throw new Error(CHANGED_ELSEWHERE);
        }
        const { body } = isNew
          ? await app.client.request<SavedHook>(path, { method: "POST", json: { name, ...settings } })
          : await app.client.request<SavedHook>(`${path}/${hook.name}`, { method: "PUT", json: settings });
        await onSaved(body);
      } catch (error) {
        onFailed();
        if (error instanceof ApiFault && error.code === "body_too_large") throw new Error(TOO_LARGE, { cause: error });
        const placed = placeFault(error);
        if (placed === null) throw error;
        refused.value = placed;
        focusField(idOfField(placed.field));
      }
    });
  return (
    <section class="webhook" aria-labelledby="webhook-title">
      <h2 id="webhook-title">{isNew ? "New webhook" : `Change ${hook.name}`}</h2>
      <Form class="form" onSubmit={save}>
        <div>
          <label for="webhook-sender">From</label>
          <select
            class="in"
            id="webhook-sender"
            aria-describedby="webhook-sender-help"
            value={sender}
            onChange={({ currentTarget }) =>
              change(withSender(draft.peek(), currentTarget.value as SenderKey, hooks, isNew))
            }
          >
            {Object.entries(SENDERS).map(([key, { label }]) => (
              <option value={key}>{label}</option>
            ))}
          </select>
          <p class="help" id="webhook-sender-help">
            {SENDERS[sender].help}
          </p>
        </div>
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
        <div>
          <label for="webhook-signature">Signature to verify</label>
          <select
            class="in"
            id="webhook-signature"
            aria-describedby="webhook-signature-help"
            value={signature}
            onChange={({ currentTarget }) => change({ signature: currentTarget.value as HookSignature })}
          >
            {Object.entries(SIGNATURES).map(([key, label]) => (
              <option value={key}>{label}</option>
            ))}
          </select>
          <p class="help" id="webhook-signature-help">
            {signature === "none"
              ? "The sender needs an API key that can write: ?apikey= in the address, or Authorization: Bearer."
              : "A request without a valid signature is refused, whatever API key it carries."}
          </p>
        </div>
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
        <div class="save">
          <button class="btn solid" type="submit" disabled={isBusy.value}>
            {isNew ? "Make webhook" : "Save webhook"}
          </button>
          <button class="btn" type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </section>
  );
}

function idOfField(field: string): string {
  const [first, second] = field.split(".");
  return first === "template" ? `template-${second ?? "text"}` : `webhook-${field}`;
}

function focusField(id: string): void {
  document.getElementById(id)?.focus();
}
