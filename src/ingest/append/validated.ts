import type { Visit } from "../../events/visit.ts";

/** A validated visit, before acceptance: what a producer posted about one of its users. */
export type ValidatedVisit = Omit<Visit, "id" | "log" | "created">;
