import { HOOK_NAME_RULE, parseHookName } from "../../events/hook-name.ts";
import { ApiFault } from "../api/client.ts";
import type { HookRecord, HookSignature } from "../api/types.ts";
import { SENDERS, senderOf } from "./senders.ts";
import type { Sender, SenderKey } from "./senders.ts";
import { isSameTemplate, templateOf, textsOf } from "./template.ts";
import type { Template } from "./template.ts";

/** A hook as it is being edited. */
export type Draft = {
  readonly sender: SenderKey;
  readonly name: string;
  readonly signature: HookSignature;
  readonly secret: "kept" | "drawn" | "given";
  /** As it was typed. */
  readonly given: string;
  readonly template: Template;
};

/** A new hook of a sender, with the sender's usual name where that is free. */
export function newDraft(sender: SenderKey, hooks: readonly Pick<HookRecord, "name">[]): Draft {
  const { name, signature, template = {}, drawsSecret = false }: Sender = SENDERS[sender];
  return {
    sender,
    name: hooks.some((hook) => hook.name === name) ? "" : name,
    signature,
    secret: drawsSecret ? "given" : "drawn",
    given: "",
    template: textsOf(template),
  };
}

export function draftOf(hook: HookRecord): Draft {
  const { name, signature, template } = hook;
  return {
    sender: senderOf(hook),
    name,
    signature,
    secret: signature === "none" ? "drawn" : "kept",
    given: "",
    template: textsOf(template ?? {}),
  };
}

/** A draft for another sender. What was typed stays: a name, a secret, and a template where it still has a use. */
export function withSender(draft: Draft, sender: SenderKey, hooks: readonly HookRecord[], isNew: boolean): Draft {
  const next = newDraft(sender, hooks);
  const before: Sender = SENDERS[draft.sender];
  const isUsualName = draft.name === "" || draft.name === before.name;
  const isUsualTemplate = isSameTemplate(draft.template, textsOf(before.template ?? {}));
  return {
    ...next,
    name: isNew && isUsualName ? next.name : draft.name,
    secret: draft.secret === "kept" ? "kept" : next.secret,
    given: draft.given,
    template: isUsualTemplate || SENDERS[sender].kind !== "json" ? next.template : draft.template,
  };
}

/** Whether the form has the fields of a template: those of a known form need none. */
export function showsTemplate({ sender, template }: Draft): boolean {
  return SENDERS[sender].kind === "json" || Object.values(template).some((text) => text !== "");
}

/** The settings that the API takes of a draft. */
export function settingsOf(draft: Draft, before: HookRecord | null): Readonly<Record<string, unknown>> {
  const { sender, signature, secret, given, template } = draft;
  return {
    kind: SENDERS[sender].kind,
    signature,
    template: templateOf(template, before?.template ?? null),
    ...(signature !== "none" && secret !== "kept" && { secret: secret === "drawn" ? null : given }),
  };
}

/** What is wrong with a field of a hook. */
export type FieldFault = { readonly field: string; readonly words: string };

/** What is wrong with a name before it is sent, in the words of the API; null: nothing, or it is empty still. */
export function nameFault(text: string, log: string, hooks: readonly Pick<HookRecord, "name">[]): string | null {
  if (text === "") return null;
  const name = parseHookName(text);
  if (name === null) return `The name ${HOOK_NAME_RULE}`;
  return hooks.some((hook) => hook.name === name) ? `The log ${log} has a hook ${name} already` : null;
}

const NAMED = /^The field (?<field>name|secret|template(?:\.[a-z]+)?)\b/;

/** The field at which an error of the API is to be said; null: it is about no single one. */
export function placeFault(error: unknown): FieldFault | null {
  if (!(error instanceof ApiFault)) return null;
  const { code, message } = error;
  if (code === "hook_exists") return { field: "name", words: message };
  if (code === "bad_body" || code === "body_too_large") return { field: "body", words: message };
  const field = NAMED.exec(message)?.groups?.["field"];
  return field === undefined ? null : { field, words: message };
}
