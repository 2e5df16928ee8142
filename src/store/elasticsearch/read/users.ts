import type { Client } from "@elastic/elasticsearch";

import { LoggiaError } from "../../../errors.ts";
import type { LogKey } from "../../../events/event.ts";
import { compareCodePoints, fold } from "../../../events/text.ts";
import { someComparison } from "../../../query/plan.ts";
import type { UserCondition, UsersPlan } from "../../../query/plan.ts";
import type { TrackedUser, UsersPage } from "../../store.ts";
import type { VisitDocument } from "../documents/visit.ts";
import { compileVisits } from "../compile/compile.ts";
import type { Query } from "../client/queries.ts";
import type { Names } from "../documents/mapping.ts";
import { ANY_ORDER, scan, answerTotal, withPointInTime } from "../client/scan.ts";
import type { Searcher } from "../client/scan.ts";
import { YieldingTest } from "./yielding-test.ts";
import { testOfUsers } from "./verify.ts";

/** Number of users read in one request. */
const PAGE = 10_000;
/** Maximum number of users in memory. */
const MAX_USERS = 1_000_000;
/** Maximum number of visits that are read to compute users. */
const MAX_VISITS = 1_000_000;
const BATCH = 5000;

/**
 * Computes users from their visits, then filters, sorts and pages them: conditions apply to users,
 * not to visits. The cluster counts visits. Texts are read only for the users of the page, unless a
 * condition or the order needs them for all users.
 */
export async function users(client: Client, names: Names, plan: UsersPlan): Promise<UsersPage> {
  if (plan.logs.length === 0) return { rows: [], total: 0 };
  const needsAllTexts = needsTexts(plan.where) || plan.sort.some(({ field }) => field === "email" || field === "page");
  const test = new YieldingTest(testOfUsers(plan.where));
  return withPointInTime(client, names.visits, async (search) => {
    const query = compileVisits(plan);
    const collector = collectorOf(plan);
    for await (const user of needsAllTexts ? readUsers(search, query) : countedUsers(search, query)) {
      if (await test.holds(user)) collector.add(user);
    }
    const { rows, total } = collector.finish();
    return { rows: needsAllTexts ? rows : await withTexts(search, rows), total };
  });
}

/**
 * Whether a condition needs more than the folded name and the counts. An expression may be
 * case-sensitive about a name.
 */
function needsTexts(where: UserCondition): boolean {
  return someComparison(where, (each) => {
    if (each.kind === "matches") return true;
    return "field" in each && (each.field === "email" || each.field === "page");
  });
}

/** Collects the users that a plan may show, and counts all. */
function collectorOf({ sort, skip, take }: UsersPlan): { add(user: TrackedUser): void; finish(): UsersPage } {
  const order = orderOf(sort);
  const wanted = skip + take;
  let users: TrackedUser[] = [];
  let total = 0;
  return {
    add(user) {
      total += 1;
      users.push(user);
      if (users.length <= wanted * 2 + PAGE && users.length <= MAX_USERS) return;
      if (wanted >= MAX_USERS) {
        throw new LoggiaError("unsupported", `More than ${MAX_USERS} users precede this page: narrow the query`);
      }
      users = users.sort(order).slice(0, wanted);
    },
    finish: () => ({ rows: users.sort(order).slice(skip, wanted), total }),
  };
}

type Counted = {
  readonly key: { readonly log: LogKey; readonly user: string };
  readonly doc_count: number;
  readonly first: { readonly value: number };
  readonly last: { readonly value: number };
};

/** Yields all users by log and folded name, without e-mail and page. */
async function* countedUsers(search: Searcher, query: Query): AsyncGenerator<TrackedUser> {
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
          aggs: { first: { min: { field: "created" } }, last: { max: { field: "created" } } },
        },
      },
    });
    const buckets = (aggregations?.["users"]?.buckets ?? []) as unknown as readonly Counted[];
    for (const { key, doc_count: count, first, last } of buckets) {
      yield { ...key, email: "", page: "", created: first.value, seen: last.value, count };
    }
    after = buckets.length === PAGE ? aggregations?.["users"]?.after_key : undefined;
  } while (after !== undefined);
}

/** A user being computed, with the ids of the visits that determined its texts. */
type Accumulated = { -readonly [field in keyof TrackedUser]: TrackedUser[field] } & {
  userBy: string;
  emailBy: string;
  pageBy: string;
};

/**
 * Yields all users, computed from each of their visits.
 * @throws LoggiaError `unsupported` if there are too many visits to read
 */
async function* readUsers(search: Searcher, query: Query): AsyncGenerator<TrackedUser> {
  const count = answerTotal(await search({ query, size: 0, track_total_hits: MAX_VISITS + 1 }));
  if (count > MAX_VISITS) {
    throw new LoggiaError(
      "unsupported",
      `This query has to read each of more than ${MAX_VISITS} visits: ` +
        "narrow it, for example by user, or use neither email nor page",
    );
  }
  const accumulated = new Map<string, Accumulated>();
  for await (const hits of scan(search, { query, sort: ANY_ORDER, batch: BATCH, source: true })) {
    for (const { _source: visit } of hits) accumulate(accumulated, visit as VisitDocument);
  }
  for (const { userBy: _, emailBy: __, pageBy: ___, ...user } of accumulated.values()) yield user;
}

function accumulate(
  users: Map<string, Accumulated>,
  { id, log, created, user, email, page, folded }: VisitDocument,
): void {
  const key = `${log} ${folded.user}`;
  let known = users.get(key);
  if (known === undefined) {
    known = { log, user, email: "", page: "", created, seen: created, count: 0, userBy: "", emailBy: "", pageBy: "" };
    users.set(key, known);
  }
  known.count += 1;
  known.created = Math.min(known.created, created);
  known.seen = Math.max(known.seen, created);
  if (id > known.userBy) [known.user, known.userBy] = [user, id];
  if (email !== undefined && id > known.emailBy) [known.email, known.emailBy] = [email, id];
  if (page !== undefined && id > known.pageBy) [known.page, known.pageBy] = [page, id];
}

/** Latest visit in the order of ids. */
const LATEST = { top_hits: { size: 1, sort: [{ id: "desc" as const }], _source: ["user", "email", "page"] } };
const LATEST_TEXTS = {
  latest: LATEST,
  email: { filter: { term: { has: "email" } }, aggs: { latest: LATEST } },
  page: { filter: { term: { has: "page" } }, aggs: { latest: LATEST } },
} as const;

type Latest = { readonly hits: { readonly hits: readonly { readonly _source?: Partial<VisitDocument> }[] } };
type TextsBucket = {
  readonly latest: Latest;
  readonly email: { readonly latest: Latest };
  readonly page: { readonly latest: Latest };
};

/** Adds the texts to users that were only counted. */
async function withTexts(search: Searcher, rows: readonly TrackedUser[]): Promise<TrackedUser[]> {
  const texts = new Map<string, Pick<TrackedUser, "user" | "email" | "page">>();
  for (const [log, users] of Map.groupBy(rows, (row) => row.log)) {
    const { aggregations } = await search({
      query: { bool: { filter: [{ term: { log } }, { terms: { "folded.user": users.map(({ user }) => user) } }] } },
      size: 0,
      track_total_hits: false,
      aggs: { users: { terms: { field: "folded.user", size: users.length }, aggs: LATEST_TEXTS } },
    });
    const buckets = (aggregations?.["users"]?.buckets ?? []) as unknown as readonly (TextsBucket & {
      readonly key: string;
    })[];
    for (const bucket of buckets) texts.set(`${log} ${bucket.key}`, textsOf(bucket));
  }
  return rows.map((row) => ({ ...row, ...texts.get(`${row.log} ${row.user}`) }));
}

function textsOf({ latest, email, page }: TextsBucket): Pick<TrackedUser, "user" | "email" | "page"> {
  return {
    user: sourceOf(latest).user ?? "",
    email: sourceOf(email.latest).email ?? "",
    page: sourceOf(page.latest).page ?? "",
  };
}

function sourceOf(latest: Latest): Partial<VisitDocument> {
  const { _source: source } = latest.hits.hits[0] ?? {};
  return source ?? {};
}

/** Returns the order of users. Ties are broken by user and log, in the last key's direction. */
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
