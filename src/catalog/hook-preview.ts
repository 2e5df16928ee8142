import type { AttributeValue } from "../events/attributes.ts";
import type { AcceptedEvent } from "../events/event.ts";
import type { HookSettings } from "./catalog.ts";

/** A request to a hook, for a preview. */
export type HookRequest = {
  readonly hook: Pick<HookSettings, "kind" | "template">;
  readonly body: string;
  /** By name; case does not matter. */
  readonly headers: Readonly<Record<string, string>>;
};

/** The first events that a hook would decode from a request. */
export type HookPreview = {
  readonly events: readonly PreviewedEvent[];
  /** Whether the request has more events. */
  readonly more: boolean;
  /** The first fault among items that are omitted; null if there is none. */
  readonly fault: string | null;
};

export type PreviewedEvent = Omit<AcceptedEvent, "id" | "log" | "created" | "attributes"> & {
  /** null: the time at which the request arrives. */
  readonly created: number | null;
  readonly attributes: Readonly<Record<string, AttributeValue | readonly AttributeValue[]>>;
};

/** Decodes a request without storing it. @throws LoggiaError `bad_body` */
export type PreviewHook = (request: HookRequest) => Promise<HookPreview>;
