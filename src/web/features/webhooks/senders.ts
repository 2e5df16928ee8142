import type { HookKind, HookRecord, HookSignature } from "../../parts/api/types.ts";
import type { TemplateTexts } from "./template.ts";

/** A service that posts webhooks: default settings of its hook, and where it takes the address. */
export type HookSender = {
  readonly label: string;
  readonly kind: HookKind;
  /** Its usual signature. */
  readonly signature: HookSignature;
  /** Default name of its hook. */
  readonly name: string;
  /** Whether the service generates the secret. */
  readonly drawsSecret?: boolean;
  readonly template?: Partial<TemplateTexts>;
  readonly help: string;
  readonly example: SenderExample;
};

/** A short example of a request. */
export type SenderExample = { readonly body: object; readonly headers?: string };

const GITHUB: HookSender = {
  label: "GitHub",
  kind: "github",
  signature: "github",
  name: "github",
  help: "In GitHub: Settings, Webhooks, Add webhook. You get its address and secret when you have made the webhook here.",
  example: {
    headers: "X-GitHub-Event: pull_request",
    body: {
      action: "closed",
      pull_request: {
        number: 12,
        title: "Fix the gate",
        merged: true,
        html_url: "https://github.com/octo/repo/pull/12",
      },
      repository: { full_name: "octo/repo" },
      sender: { login: "octocat" },
    },
  },
};

const GITLAB: HookSender = {
  label: "GitLab",
  kind: "json",
  signature: "gitlab",
  name: "gitlab",
  template: {
    text:
      "{user_name|user.name} {object_attributes.action|object_kind} {object_attributes.title|ref} " +
      "of {project.path_with_namespace}",
    tags: "{object_kind}",
    source: "{project.path_with_namespace}",
    link: "{object_attributes.url|project.web_url}",
  },
  help: "In GitLab: Settings, Webhooks. Its Secret token is the secret that you get when you have made the webhook here.",
  example: {
    body: {
      object_kind: "merge_request",
      user: { name: "Ann Lee" },
      project: { path_with_namespace: "shop/web", web_url: "https://gitlab.example.org/shop/web" },
      object_attributes: { action: "open", title: "Fix the gate", iid: 12 },
    },
  },
};

const ALERTMANAGER: HookSender = {
  label: "Alertmanager or Grafana",
  kind: "alertmanager",
  signature: "none",
  name: "alertmanager",
  help: "In Alertmanager: webhook_configs of a receiver. In Grafana: a contact point of the type Webhook.",
  example: {
    body: {
      status: "firing",
      alerts: [
        {
          status: "firing",
          labels: { alertname: "DiskFull", severity: "critical", service: "db" },
          annotations: { summary: "The disk of db-1 is full" },
          startsAt: "2026-11-26T09:00:00Z",
        },
      ],
    },
  },
};

const SENTRY: HookSender = {
  label: "Sentry",
  kind: "sentry",
  signature: "sentry",
  name: "sentry",
  drawsSecret: true,
  help: "In Sentry: Settings, Developer Settings, an internal integration. Enter its client secret below.",
  example: {
    headers: "Sentry-Hook-Resource: issue",
    body: {
      action: "created",
      data: { issue: { title: "TypeError: order is undefined", level: "error", project: { slug: "shop-web" } } },
    },
  },
};

const STANDARD: HookSender = {
  label: "Standard Webhooks",
  kind: "json",
  signature: "standard",
  name: "",
  drawsSecret: true,
  help: "OpenAI, Clerk, Resend, Svix and others. Most generate the secret themselves: enter it below.",
  example: {
    body: { type: "invoice.paid", timestamp: "2026-11-26T09:00:00Z", data: { customer: "acme", amount: 49.9 } },
  },
};

const ANY_JSON: HookSender = {
  label: "Any JSON",
  kind: "json",
  signature: "none",
  name: "",
  help: "Any service that posts JSON. The template below maps its values to fields of events.",
  example: { body: { title: "Nightly build failed", level: "error", build: 17, branch: "main" } },
};

/** In the order of the form. */
export const SENDERS = {
  github: GITHUB,
  gitlab: GITLAB,
  alertmanager: ALERTMANAGER,
  sentry: SENTRY,
  standard: STANDARD,
  json: ANY_JSON,
} as const satisfies Readonly<Record<string, HookSender>>;
export type SenderKey = keyof typeof SENDERS;

/** Labels of the signatures, each with its header. */
export const SIGNATURES: Readonly<Record<HookSignature, string>> = {
  none: "None: requests need an API key",
  github: "GitHub's (X-Hub-Signature-256)",
  gitlab: "GitLab's token (X-Gitlab-Token)",
  grafana: "Grafana's (X-Grafana-Alerting-Signature)",
  sentry: "Sentry's (Sentry-Hook-Signature)",
  standard: "Standard Webhooks' (webhook-signature)",
};

/** The sender that matches the settings of a hook. */
export function senderOfHook({ kind, signature }: Pick<HookRecord, "kind" | "signature">): SenderKey {
  if (kind !== "json") return kind;
  return signature === "gitlab" || signature === "standard" ? signature : "json";
}
