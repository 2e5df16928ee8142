/** Records of the API, as in its JSON. */

/** A scalar, or several of them. */
export type AttributeValue = string | number | boolean | readonly (string | number | boolean)[];

export type EventPlace = { readonly lat: number; readonly lon: number } | { readonly ip: string };

export type EventRecord = {
  readonly id: string;
  /** `/Date(1308491673911)/` */
  readonly created: string;
  readonly text: string;
  readonly link: string;
  readonly hash: string;
  readonly tags: readonly string[];
  readonly source: string;
  readonly log: string;
  readonly class: string | null;
  /** Whether the event has data. */
  readonly data: boolean;
  readonly geo: EventPlace | null;
  readonly value: number | null;
  readonly user: string;
  readonly filter: string | null;
  readonly bookmarks: readonly string[];
  readonly alerts: readonly string[] | null;
  /** Present if requested with `attributes=true`. */
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
};

/** A log that is shared with the account. */
export type LogRecord = {
  readonly key: string;
  readonly display: string;
  readonly plan: string;
  /** null to keep events forever. */
  readonly retentionDays: number | null;
  /** The account's permission: `user` reads, `admin` also changes the log. */
  readonly role: "admin" | "user";
};

/** A class filter: events that meet its conditions get its class. */
export type ClassRecord = {
  readonly key: string;
  readonly display: string;
  /** Any CSS colour; the page adapts it to its surfaces. */
  readonly color: string;
  readonly tag: string;
  readonly text: string;
  readonly link: string;
  readonly source: string;
  readonly weight: number;
};

/** A field of the log, as returned by `GET …/fields`. */
export type FieldRecord = { readonly name: string; readonly kind: string; readonly count: string };

export type Account = { readonly email: string; readonly admin: boolean; readonly expires: number | string };

export type SavedQuery = {
  readonly name: string;
  readonly query: string;
  readonly tz: string;
  readonly shared: boolean;
  readonly owner: string;
};

export type HookKind = "github" | "alertmanager" | "sentry" | "json";

/** How the requests of a hook are signed; `none`: an API key lets them in. */
export type HookSignature = "none" | "github" | "standard" | "sentry" | "grafana" | "gitlab";

/** An address at which another service posts in its own form. */
export type HookRecord = {
  readonly name: string;
  readonly kind: HookKind;
  readonly signature: HookSignature;
  /** Texts with paths in braces, by field; null: the kind decides what becomes of a body. */
  readonly template: Readonly<Record<string, unknown>> | null;
  readonly created: string;
  /** Behind the posting address. */
  readonly path: string;
};

/** An event as a hook would make it of a body. */
export type PreviewedEvent = Pick<EventRecord, "text" | "link" | "tags" | "source" | "user" | "value" | "geo"> & {
  /** null: when the request arrives. */
  readonly created: string | null;
  readonly data: string | null;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
};

/** Returns a `created` in milliseconds since the Unix epoch. */
export function parseMoment(created: string): number {
  return Number(/-?\d+/.exec(created)?.[0] ?? Number.NaN);
}
