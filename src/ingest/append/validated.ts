import type { AcceptedEvent } from "../../events/event.ts";
import type { Visit } from "../../events/visit.ts";

/** A validated event, before acceptance. */
export type ValidatedEvent = Omit<AcceptedEvent, "id" | "log" | "created">;

/** A validated visit, before acceptance: what a producer posted about one of its users. */
export type ValidatedVisit = Omit<Visit, "id" | "log" | "created">;
