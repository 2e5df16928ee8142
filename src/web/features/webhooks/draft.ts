import { HOOK_NAME_RULE, parseHookName } from "../../../events/hook-name.ts";
import { ApiFault } from "../../parts/api/client.ts";
import type { HookRecord, HookSignature } from "../../parts/api/types.ts";
import { SENDERS, senderOfHook } from "./senders.ts";
import type { HookSender, SenderKey } from "./senders.ts";
import { isSameTemplate, templateOfTexts, templateTexts } from "./template.ts";
import type { TemplateTexts } from "./template.ts";

/** A hook in the form. */
export type HookDraft = {
  readonly sender: SenderKey;
  readonly name: string;
  readonly signature: HookSignature;
  readonly secret: "kept" | "drawn" | "given";
  /** The entered secret. */
  readonly given: string;
  readonly template: TemplateTexts;
};

/** Default settings for a sender. The name is empty if the usual one is taken. */
export function newHookDraft(sender: SenderKey, hooks: readonly Pick<HookRecord, "name">[]): HookDraft {
  const { name, signature, template = {}, drawsSecret = false }: HookSender = SENDERS[sender];
  return {
    sender,
    name: hooks.some((hook) => hook.name === name) ? "" : name,
    signature,
    secret: drawsSecret ? "given" : "drawn",
    given: "",
    template: templateTexts(template),
  };
}

export function draftOfHook(hook: HookRecord): HookDraft {
  const { name, signature, template } = hook;
  return {
    sender: senderOfHook(hook),
    name,
    signature,
    secret: signature === "none" ? "drawn" : "kept",
    given: "",
    template: templateTexts(template ?? {}),
  };
}

/** Switches the sender. An entered name, secret or template is kept where it still applies. */
export function withSender(
  draft: HookDraft,
  sender: SenderKey,
  hooks: readonly HookRecord[],
  isNew: boolean,
): HookDraft {
  const next = newHookDraft(sender, hooks);
  const before: HookSender = SENDERS[draft.sender];
  const isUsualName = draft.name === "" || draft.name === before.name;
  const isUsualTemplate = isSameTemplate(draft.template, templateTexts(before.template ?? {}));
  return {
    ...next,
    name: isNew && isUsualName ? next.name : draft.name,
    secret: draft.secret === "kept" ? "kept" : next.secret,
    given: draft.given,
    template: isUsualTemplate || SENDERS[sender].kind !== "json" ? next.template : draft.template,
  };
}

/** Whether the form shows the template: only JSON needs one, but other hooks may have one. */
export function showsTemplate({ sender, template }: HookDraft): boolean {
  return SENDERS[sender].kind === "json" || Object.values(template).some((text) => text !== "");
}

/** The draft as the API takes it. */
export function hookSettings(draft: HookDraft, before: HookRecord | null): Readonly<Record<string, unknown>> {
  const { sender, signature, secret, given, template } = draft;
  return {
    kind: SENDERS[sender].kind,
    signature,
    template: templateOfTexts(template, before?.template ?? null),
    ...(signature !== "none" && secret !== "kept" && { secret: secret === "drawn" ? null : given }),
  };
}

/** A fault and the field that it belongs to. */
export type FieldFault = { readonly field: string; readonly words: string };

/** Whether two reads of a hook show the same settings. */
export function isSameHook(one: HookRecord, other: HookRecord): boolean {
  const [first, second] = [one, other].map(({ kind, signature, template, created }) =>
    JSON.stringify([kind, signature, templateTexts(template ?? {}), created]),
  );
  return first === second;
}

/** Checks a name by the rules of the API before it is sent. Null for a valid or an empty name. */
export function nameFault(text: string, log: string, hooks: readonly Pick<HookRecord, "name">[]): string | null {
  if (text === "") return null;
  const name = parseHookName(text);
  if (name === null) return `The name ${HOOK_NAME_RULE}`;
  return hooks.some((hook) => hook.name === name) ? `The log ${log} has a hook ${name} already` : null;
}

const NAMED = /^The field (?<field>name|secret|template(?:\.[a-z]+)?)\b/;

/** Finds the field that an error of the API is about; null if it is about none. */
export function placeFault(error: unknown): FieldFault | null {
  if (!(error instanceof ApiFault)) return null;
  const { code, message } = error;
  if (code === "hook_exists") return { field: "name", words: message };
  if (code === "bad_body" || code === "body_too_large") return { field: "body", words: message };
  const field = NAMED.exec(message)?.groups?.["field"];
  return field === undefined ? null : { field, words: message };
}
