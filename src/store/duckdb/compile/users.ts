import type { Comparison, Direction, UserCondition, UserField, UsersPlan } from "../../../query/plan.ts";
import type { Statement } from "../database/run-statement.ts";
import { Binder, unknown } from "./binder.ts";
import { quoted } from "./compile.ts";
import { compareInteger, compareTexts, joinedConditions } from "./condition.ts";
import type { TextColumn } from "./condition.ts";

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

function condition(where: UserCondition, bind: Binder): string {
  return joinedConditions(where, (each) => comparison(each, bind));
}

function comparison(where: Comparison<UserField>, bind: Binder): string {
  switch (where.kind) {
    case "text":
    case "in":
    case "contains":
    case "matches":
      return compareTexts(textColumn(where.field), where, bind);
    case "number":
      return compareInteger(numberColumn(where.field), where, bind);
    case "absent":
      return where.field === "email" || where.field === "page" ? `(${where.field} = '')` : isNever(where.field);
    case "geo-within":
    case "geo-near":
    case "accepted-after":
      throw new TypeError("Users have no id");
  }
  throw unknown(where satisfies never);
}

function textColumn(field: UserField | "data"): TextColumn {
  if (field === "user" || field === "email" || field === "page")
    return { given: `"${field}"`, folded: `${field}_folded`, absent: `("${field}" = '')` };
  throw new TypeError(`${field} is not a text field`);
}

function numberColumn(field: UserField): string {
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
