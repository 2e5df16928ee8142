import type { FieldLimits } from "../../events/limits.ts";
import type { ValidatedVisit } from "../append/validated.ts";
import { readField } from "./validated-event.ts";
import type { PostedFields } from "./validated-event.ts";

/** Fields of the form. */
export const VISIT_FIELDS = ["user", "email", "page"] as const;

export type VisitValidation =
  | { readonly kind: "valid"; readonly valid: ValidatedVisit }
  | { readonly kind: "bad"; readonly faults: readonly string[] };

/**
 * Validates a posted form. Every fault is reported, not only the first. The e-mail address is not
 * checked: the producer knows its users.
 */
export function validateVisit(fields: PostedFields, limits: FieldLimits): VisitValidation {
  const faults: string[] = [];
  const user = readField(fields, "user", limits, faults);
  const email = readField(fields, "email", limits, faults);
  const page = readField(fields, "page", limits, faults);
  if (user.trim() === "") faults.push("user is missing or blank, it must identify the user");
  if (faults.length > 0) return { kind: "bad", faults };
  return { kind: "valid", valid: { user, email, page } };
}
