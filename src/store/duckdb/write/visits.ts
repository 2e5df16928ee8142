import { DOUBLE } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";
import { fold } from "../../../events/text.ts";
import type { Visit } from "../../../events/visit.ts";
import type { Direction, UserCondition, UserField, UsersPlan } from "../../../query/plan.ts";
import type { TrackedUser, UsersPage } from "../../store.ts";
import { queryRows } from "../read/run-statement.ts";
import type { Row } from "../read/run-statement.ts";
import { Binder } from "../compile/binder.ts";
import type { Statement } from "../compile/binder.ts";
import { quoted } from "../compile/compile.ts";
import { transaction } from "../database/transaction.ts";
import { toRe2 } from "../compile/regexp.ts";
import { encodeId, foldedUnlessAscii } from "../database/schema.ts";
import { distinct, storedIds } from "./write.ts";

const VISITS_SHAPE = JSON.stringify([
  {
    id_hi: "UBIGINT",
    id_lo: "UINTEGER",
    created: "BIGINT",
    log: "VARCHAR",
    user: "VARCHAR",
    email: "VARCHAR",
    page: "VARCHAR",
    folded: { user: "VARCHAR", email: "VARCHAR", page: "VARCHAR" },
  },
]);

/** Inserts the visits that are not stored yet, each once. Returns the largest id now stored. */
export async function insertVisits(
  connection: DuckDBConnection,
  visits: readonly Visit[],
  high: string,
): Promise<string> {
  const fresh = distinct(visits, ({ id }) => id);
  const known = await storedIds(
    connection,
    "visits",
    fresh.filter(({ id }) => id <= high).map(({ id }) => id),
  );
  const rows = fresh.filter(({ id }) => !known.has(id)).map(encodeVisit);
  if (rows.length > 0) {
    const sql = `insert into visits select unnest(json_transform_strict($1::json, '${VISITS_SHAPE}'), max_depth := 2)`;
    await connection.run(sql, [JSON.stringify(rows)]);
  }
  return fresh.reduce((largest, { id }) => (id > largest ? id : largest), high);
}

function encodeVisit({ id, created, log, user, email, page }: Visit): object {
  const folded = { user: foldedUnlessAscii(user), email: foldedUnlessAscii(email), page: foldedUnlessAscii(page) };
  const hasFolded = Object.values(folded).some((text) => text !== null);
  return { ...encodeId(id), created, log, user, email, page, folded: hasFolded ? folded : null };
}

/** Lists users. The count is a separate pass, which reads only what the condition needs. */
export async function users(connection: DuckDBConnection, plan: UsersPlan): Promise<UsersPage> {
  return transaction(connection, async () => {
    const [[counted = 0] = []] = await queryRows(connection, compileUserCount(plan));
    const total = Number(counted);
    if (total <= plan.skip) return { rows: [], total };
    return { rows: (await queryRows(connection, compileUsers(plan))).map(toTrackedUser), total };
  });
}

function toTrackedUser([log, user, email, page, created, seen, count]: Row): TrackedUser {
  return {
    log: log as LogKey,
    user: user as string,
    email: email as string,
    page: page as string,
    created: Number(created),
    seen: Number(seen),
    count: Number(count),
  };
}

export function compileUserCount(plan: UsersPlan): Statement {
  const bind = new Binder();
  return bind.statement(`${tracked(plan)} select count(*) from users where ${condition(plan.where, bind)}`);
}

export function compileUsers(plan: UsersPlan): Statement {
  const bind = new Binder();
  return bind.statement(
    `${tracked(plan)}
     select log, "user", email, page, created, seen, "count" from users where ${condition(plan.where, bind)}
     order by ${order(plan.sort)} limit ${bind.integer(plan.take)} offset ${bind.integer(plan.skip)}`,
  );
}

/**
 * Returns the common table expressions that compute the records of users. Texts compare by
 * `…_folded`; the last visit is the one with the largest id, taken as a single number.
 */
function tracked({ logs }: UsersPlan): string {
  const isOfLogs = logs.length === 0 ? "false" : `log in (${logs.map(quoted).join(", ")})`;
  return `with visited as (
       select *, id_hi::hugeint * 4294967296 + id_lo as rank from visits where ${isOfLogs}),
     grouped as (
       select log, coalesce(folded."user", lower("user")) as user_folded, arg_max("user", rank) as "user",
         ${lastOf("email")}, ${lastOf("page")}, min(created) as created, max(created) as seen, count(*) as "count"
       from visited group by log, user_folded),
     users as (
       select log, "user", user_folded, created, seen, "count",
         coalesce(email.given, '') as email, coalesce(email.folded, '') as email_folded,
         coalesce(page.given, '') as page, coalesce(page.folded, '') as page_folded
       from grouped)`;
}

function lastOf(field: "email" | "page"): string {
  return `arg_max({given: ${field}, folded: coalesce(folded.${field}, lower(${field}))}, rank) filter (where ${field} <> '') as ${field}`;
}

/** Compiles a condition to SQL. The result is never NULL, so that `not` is the plain complement. */
function condition(where: UserCondition, bind: Binder): string {
  switch (where.kind) {
    case "and":
      return where.conditions.length === 0 ? "true" : joined(where.conditions, "and", bind);
    case "or":
      return where.conditions.length === 0 ? "false" : joined(where.conditions, "or", bind);
    case "not":
      return `not ${condition(where.condition, bind)}`;
    case "text": {
      const { given, folded } = text(where.field);
      if (where.op === "=" && where.value === "") return `(${given} = '')`;
      return `(${given} <> '' and ${folded} ${where.op} ${bind.text(where.value)})`;
    }
    case "in": {
      const { folded } = text(where.field);
      return where.values.length === 0
        ? "false"
        : `(${folded} in (${where.values.map((value) => bind.text(value)).join(", ")}))`;
    }
    case "number": {
      const { value, op } = where;
      return Number.isSafeInteger(value)
        ? `(${number(where.field)} ${op} ${bind.integer(value)})`
        : `(${number(where.field)}::double ${op} ${bind.add(value, DOUBLE)})`;
    }
    case "contains":
      return `contains(${text(where.field).folded}, ${bind.text(fold(where.value))})`;
    case "matches": {
      const expression = toRe2(where.pattern);
      if (expression === null) return "false";
      const { given } = text(where.field);
      return `(${given} <> '' and regexp_matches(${given}, ${bind.text(expression.pattern)}))`;
    }
    case "absent":
      return where.field === "email" || where.field === "page" ? `(${where.field} = '')` : isNever(where.field);
    case "geo-within":
    case "geo-near":
    case "accepted-after":
      throw new TypeError("Users have no id");
  }
  throw new TypeError(`The plan has an unknown part: ${JSON.stringify(where satisfies never)}`);
}

function joined(conditions: readonly UserCondition[], word: "and" | "or", bind: Binder): string {
  return `(${conditions.map((part) => condition(part, bind)).join(` ${word} `)})`;
}

function text(field: UserField | "data"): { given: string; folded: string } {
  if (field === "user" || field === "email" || field === "page")
    return { given: `"${field}"`, folded: `${field}_folded` };
  throw new TypeError(`${field} is not a text field`);
}

function number(field: UserField): string {
  if (field === "created" || field === "seen" || field === "count") return `"${field}"`;
  throw new TypeError(`${field} is not a number field`);
}

function isNever(field: UserField | "geo" | "data"): string {
  if (field === "geo" || field === "data") throw new TypeError(`Users have no ${field}`);
  return "false";
}

function order(sort: UsersPlan["sort"]): string {
  const last: Direction = sort.at(-1)?.direction ?? "asc";
  const keys = sort.map(({ field, direction }) => {
    const isText = field === "user" || field === "email" || field === "page";
    return `${isText ? `${field}_folded` : `"${field}"`} ${direction}`;
  });
  return [...keys, `user_folded ${last}`, `log ${last}`].join(", ");
}
