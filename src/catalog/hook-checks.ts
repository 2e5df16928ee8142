import { LoggiaError } from "../errors.ts";
import { HOOK_NAME_RULE, parseHookName } from "../events/hook-name.ts";
import type { GivenHook, HookKind, HookSettings, HookSignature } from "./catalog.ts";
import { parseTemplate } from "./hook-template.ts";

/** Limit per log. */
export const MAX_HOOKS = 50;

export const HOOK_KINDS = ["github", "alertmanager", "sentry", "json"] as const satisfies readonly HookKind[];
export const HOOK_SIGNATURES = [
  "none",
  "github",
  "standard",
  "sentry",
  "grafana",
  "gitlab",
] as const satisfies readonly HookSignature[];

/** Names that accept requests with an API key without being created, and their kinds. */
export const READY_HOOKS: ReadonlyMap<string, HookKind> = new Map<string, HookKind>([
  ["github", "github"],
  ["alertmanager", "alertmanager"],
  ["grafana", "alertmanager"],
  ["sentry", "sentry"],
  ["json", "json"],
  ["generic", "json"],
]);

/** Default signature scheme of each kind. */
const DEFAULT_SIGNATURE: Readonly<Record<HookKind, HookSignature>> = {
  github: "github",
  alertmanager: "grafana",
  sentry: "sentry",
  json: "standard",
};

const SECRET_LENGTH = { least: 8, most: 200 } as const;
/** Key length of Standard Webhooks. */
const STANDARD_BYTES = { least: 16, most: 128 } as const;
const STANDARD = /^(?:whsec_)?(?<base64>[A-Za-z0-9+/]+={0,2})$/;

/** @throws LoggiaError `bad_parameter`, like all checks in this file */
export function checkHookName(text: string): string {
  const name = parseHookName(text);
  if (name !== null) return name;
  throw bad(`The field name ${HOOK_NAME_RULE}`);
}

/** Returns the complete settings of a hook. */
export function checkHook(name: string, { kind, signature, secret, template = null }: GivenHook): HookSettings {
  const known = kind ?? READY_HOOKS.get(name) ?? "json";
  if (template !== null) parseTemplate(template);
  return { kind: known, signature: signature ?? (secret === undefined ? "none" : DEFAULT_SIGNATURE[known]), template };
}

export function checkHookSecret(signature: HookSignature, secret: string): string {
  const { least, most } = SECRET_LENGTH;
  if (!/^[\x21-\x7e]+$/.test(secret) || secret.length < least || secret.length > most) {
    throw bad(`The field secret must have ${least} to ${most} printable ASCII characters, without blanks`);
  }
  if (signature === "standard" && standardKey(secret) === null) {
    throw bad(
      "The field secret must be a secret of Standard Webhooks: whsec_ and base64 of " +
        `${STANDARD_BYTES.least} to ${STANDARD_BYTES.most} bytes`,
    );
  }
  return secret;
}

/** Decodes the key of a Standard Webhooks secret; null if it is malformed. */
export function standardKey(secret: string): Buffer | null {
  const base64 = STANDARD.exec(secret)?.groups?.["base64"];
  if (base64 === undefined) return null;
  const key = Buffer.from(base64, "base64");
  return key.length >= STANDARD_BYTES.least && key.length <= STANDARD_BYTES.most ? key : null;
}

function bad(message: string): LoggiaError {
  return new LoggiaError("bad_parameter", message);
}
