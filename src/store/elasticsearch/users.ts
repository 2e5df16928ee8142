import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import type { EventId } from "../../events/id.ts";
import { compareCodePoints, fold, wellFormed } from "../../events/text.ts";
import type { Visit } from "../../events/visit.ts";
import type { UsersPlan } from "../../query/plan.ts";
import type { TrackedUser, UsersPage } from "../store.ts";
import { compileVisits } from "./compile.ts";
import type { Query } from "./compile.ts";
import type { Names } from "./mapping.ts";
import { searcherOf } from "./scan.ts";
import type { Searcher } from "./scan.ts";
import { testOfUsers } from "./verify.ts";

/** Users asked for in one request; each request is a pass over the visits. */
const PAGE = 5000;
/** Users held in memory at once. */
const MAX_USERS = 500_000;

/** What an index of visits holds. Absent texts are left out; `has` names those that are there. */
type VisitDocument = {
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

/** Puts users together from their visits, and then filters, sorts and cuts them: conditions are on users, not on visits. */
export async function users(client: Client, names: Names, plan: UsersPlan): Promise<UsersPage> {
  if (plan.logs.length === 0) return { rows: [], total: 0 };
  const test = testOfUsers(plan.where);
  const found: TrackedUser[] = [];
  for await (const user of trackedUsers(searcherOf(client, names.visits), compileVisits(plan))) {
    if (!test(user)) continue;
    found.push(user);
    if (found.length > MAX_USERS) {
      throw new LoggiaError(
        "unsupported",
        `There are more than ${MAX_USERS} users: narrow the question, by user for example`,
      );
    }
  }
  found.sort(orderOf(plan.sort));
  return { rows: found.slice(plan.skip, plan.skip + plan.take), total: found.length };
}

/** The last visit in the order of ids. */
const LATEST = { top_hits: { size: 1, sort: [{ id: "desc" as const }], _source: ["user", "email", "page"] } };

type Latest = { readonly hits: { readonly hits: readonly { readonly _source?: Partial<VisitDocument> }[] } };
type UserBucket = {
  readonly key: { readonly log: LogKey; readonly user: string };
  readonly doc_count: number;
  readonly first: { readonly value: number };
  readonly last: { readonly value: number };
  readonly latest: Latest;
  readonly email: { readonly latest: Latest };
  readonly page: { readonly latest: Latest };
};

async function* trackedUsers(search: Searcher, query: Query): AsyncGenerator<TrackedUser> {
  let after: Record<string, string | number | null> | undefined;
  do {
    const { aggregations } = await search({
      query,
      size: 0,
      track_total_hits: false,
      aggs: {
        users: {
          composite: {
            size: PAGE,
            sources: [{ log: { terms: { field: "log" } } }, { user: { terms: { field: "folded.user" } } }],
            ...(after !== undefined && { after }),
          },
          aggs: {
            first: { min: { field: "created" } },
            last: { max: { field: "created" } },
            latest: LATEST,
            email: { filter: { term: { has: "email" } }, aggs: { latest: LATEST } },
            page: { filter: { term: { has: "page" } }, aggs: { latest: LATEST } },
          },
        },
      },
    });
    const buckets = (aggregations?.["users"]?.buckets ?? []) as unknown as readonly UserBucket[];
    for (const bucket of buckets) yield toUser(bucket);
    after = buckets.length === PAGE ? aggregations?.["users"]?.after_key : undefined;
  } while (after !== undefined);
}

function toUser(bucket: UserBucket): TrackedUser {
  return {
    log: bucket.key.log,
    user: sourceOf(bucket.latest).user ?? bucket.key.user,
    email: sourceOf(bucket.email.latest).email ?? "",
    page: sourceOf(bucket.page.latest).page ?? "",
    created: bucket.first.value,
    seen: bucket.last.value,
    count: bucket.doc_count,
  };
}

function sourceOf(latest: Latest): Partial<VisitDocument> {
  const { _source: source } = latest.hits.hits[0] ?? {};
  return source ?? {};
}

/** Ties are broken by user and log, in the direction of the last key. */
function orderOf(sort: UsersPlan["sort"]): (a: TrackedUser, b: TrackedUser) => number {
  const direction = sort.at(-1)?.direction ?? "asc";
  const keys = [...sort, { field: "user" as const, direction }, { field: "log" as const, direction }];
  return (a, b) => {
    for (const { field, direction } of keys) {
      const order = compareValues(a[field], b[field]);
      if (order !== 0) return direction === "asc" ? order : -order;
    }
    return 0;
  };
}

function compareValues(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number" ? a - b : compareCodePoints(fold(String(a)), fold(String(b)));
}
