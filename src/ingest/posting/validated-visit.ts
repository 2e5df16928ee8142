import type { FieldLimits } from "../../events/limits.ts";
import type { Visit } from "../../events/visit.ts";
import { readField } from "./validated-event.ts";
import type { Fields } from "./validated-event.ts";

/** What a producer posted of one of its users, checked: a visit that has yet to be accepted. */
export type ValidatedVisit = Omit<Visit, "id" | "log" | "created">;

/** The fields of a form. */
export const VISIT_FIELDS = ["user", "email", "page"] as const;

export type VisitValidation =
  | { readonly kind: "valid"; readonly valid: ValidatedVisit }
  | { readonly kind: "bad"; readonly faults: readonly string[] };

/**
 * Reads a posted form. Every fault is named, not only the first. An e-mail address is taken as it
 * is: the producer knows its users.
 */
export function validateVisit(fields: Fields, limits: FieldLimits): VisitValidation {
  const faults: string[] = [];
  const user = readField(fields, "user", limits, faults);
  const email = readField(fields, "email", limits, faults);
  const page = readField(fields, "page", limits, faults);
  if (user.trim() === "") faults.push("user is missing or blank, it must say who it is");
  if (faults.length > 0) return { kind: "bad", faults };
  return { kind: "valid", valid: { user, email, page } };
}
