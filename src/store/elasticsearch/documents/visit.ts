import type { LogKey } from "../../../events/event.ts";
import type { EventId } from "../../../events/id.ts";
import { fold, wellFormed } from "../../../events/text.ts";
import type { Visit } from "../../../events/visit.ts";

/** Document of an index of visits. Absent texts are left out; `has` lists the present ones. */
export type VisitDocument = {
  readonly id: EventId;
  readonly log: LogKey;
  readonly created: number;
  readonly user: string;
  readonly email?: string;
  readonly page?: string;
  readonly has?: readonly ("email" | "page")[];
  readonly folded: { readonly user: string };
};

export function encodeVisit(visit: Visit): string {
  const user = wellFormed(visit.user);
  const has = [...(visit.email === "" ? [] : ["email" as const]), ...(visit.page === "" ? [] : ["page" as const])];
  const document: VisitDocument = {
    id: visit.id,
    log: visit.log,
    created: visit.created,
    user,
    ...(visit.email !== "" && { email: wellFormed(visit.email) }),
    ...(visit.page !== "" && { page: wellFormed(visit.page) }),
    ...(has.length > 0 && { has }),
    folded: { user: fold(user) },
  };
  return JSON.stringify(document);
}

export function visitFromDocument({ id, log, created, user, email = "", page = "" }: VisitDocument): Visit {
  return { id, log, created, user, email, page };
}
