import type { AttributeValue } from "../events/attributes.ts";
import type { AcceptedEvent } from "../events/event.ts";
import type { HookSettings } from "./catalog.ts";

/** A request as it would reach a hook. */
export type HookRequest = {
  readonly hook: Pick<HookSettings, "kind" | "template">;
  readonly body: string;
  /** By name, in any case. */
  readonly headers: Readonly<Record<string, string>>;
};

/** The events that would come of a request: the first of them. */
export type HookPreview = {
  readonly events: readonly PreviewedEvent[];
  /** Whether there are further ones. */
  readonly more: boolean;
  /** Why the first part of the body that is no event is none; null: all parts are. */
  readonly fault: string | null;
};

export type PreviewedEvent = Omit<AcceptedEvent, "id" | "log" | "created" | "attributes"> & {
  /** null: when the request arrives. */
  readonly created: number | null;
  readonly attributes: Readonly<Record<string, AttributeValue | readonly AttributeValue[]>>;
};

/** Reads a request as a hook does, and stores nothing. @throws LoggiaError `bad_body` */
export type PreviewHook = (request: HookRequest) => HookPreview;
