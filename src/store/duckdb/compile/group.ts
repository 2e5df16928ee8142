import { DOUBLE } from "@duckdb/node-api";

import type { Aggregate, GroupPlan, HavingCondition } from "../../../query/plan.ts";
import { Binder, directed, unknown } from "./binder.ts";
import { eventsTableSql, filter } from "./compile.ts";
import { conditionColumn } from "./condition.ts";
import { compileGroupKey } from "./key.ts";
import type { CompiledKey } from "./key.ts";
import { firstOfField, aggregateNumbers, valuesOfField } from "./aggregate-input.ts";
import type { AggregateInput } from "./aggregate-input.ts";
import { sumsOfColumn } from "./number-sums.ts";
import { numberAggregation } from "../../number-aggregates.ts";
import { groupsByTags, isByTags } from "./tags.ts";
import type { Statement } from "../database/run-statement.ts";
import type { QuerySchema } from "../memory/query-schema.ts";

/**
 * A statement whose rows have, for each key, the columns that {@link CompiledKey.read} expects, then the
 * aggregates. Unless `isSorted`, the rows are all groups in any order.
 */
export type CompiledGroup = {
  readonly statement: Statement;
  readonly keys: readonly CompiledKey[];
  readonly isSorted: boolean;
};

export function compileGroup(plan: GroupPlan, schema: QuerySchema): CompiledGroup {
  const bind = new Binder(schema, plan.logs);
  const keys = plan.by.map((by, i) => compileGroupKey(by, i, plan.where, bind));
  const groups = isByTags(plan) ? groupsByTags(plan, bind) : groupsSql(plan, keys, bind);
  const isSorted = plan.sort.by === "key" || !isText(plan.aggregates[plan.sort.by]!);
  const shown = listed([...keys.flatMap((key) => key.shown), ...plan.aggregates.map((_, i) => `a${i}`)]);
  const having = plan.having === null ? "" : `where ${havingOf(plan.having, plan.aggregates, bind)}`;
  const order = isSorted ? orderOf(plan, keys, bind) : "";
  return {
    statement: bind.statement(`select ${shown} from (${groups}) ${having} ${order}`),
    keys,
    isSorted,
  };
}

function orderOf({ sort, skip, take }: GroupPlan, keys: readonly CompiledKey[], bind: Binder): string {
  const by = sort.by === "key" ? [] : [`a${sort.by} ${directed(sort.direction)}`];
  const ties = directed(sort.by === "key" ? sort.direction : "asc");
  const order = [...by, ...keys.flatMap((key) => key.order).map((each) => `${each} ${ties}`)];
  const limit = take === null ? "" : `limit ${bind.integer(take)}`;
  return `${order.length === 0 ? "" : `order by ${order.join(", ")}`} ${limit} offset ${bind.integer(skip)}`;
}

/** Returns whether an aggregate is a text, which DuckDB sorts differently. */
function isText(aggregate: Aggregate): boolean {
  if (aggregate.kind !== "first" && aggregate.kind !== "last") return false;
  return aggregate.field !== "value" && aggregate.field !== "created";
}

function havingOf(having: HavingCondition, aggregates: readonly Aggregate[], bind: Binder): string {
  switch (having.kind) {
    case "and":
    case "or": {
      if (having.conditions.length === 0) return having.kind === "and" ? "true" : "false";
      return `(${having.conditions.map((part) => havingOf(part, aggregates, bind)).join(` ${having.kind} `)})`;
    }
    case "not":
      return `not ${havingOf(having.condition, aggregates, bind)}`;
    case "compare": {
      const { aggregate, op, value } = having;
      if (isText(aggregates[aggregate]!)) return "false";
      return `(a${aggregate} is not null and a${aggregate} ${op} ${bind.add(value, DOUBLE)})`;
    }
    case "absent":
      return `(a${having.aggregate} is null)`;
  }
  throw unknown(having satisfies never);
}

/**
 * Groups rows of an event's keys and aggregated values. An event with several values of a key has a
 * row for each. If an event may have several aggregated values, each has a separate row that is not
 * `counted`.
 */
export function groupsSql(plan: GroupPlan, keys: readonly CompiledKey[], bind: Binder): string {
  const columns = new Columns(bind);
  const aggregates = plan.aggregates.map((aggregate) => columns.add(aggregate));
  const where = filter(plan, bind);
  const events = eventsTableSql(plan, bind);
  const lists = keys.flatMap(({ several }) => several ?? []);
  const isSingle = lists.map(({ has }) => ` and not ${has}`).join("");
  const branches = [
    `select ${listed([...keys.flatMap((key) => key.columns), ...columns.ofEvent()])}
     from ${events} where ${where}${isSingle}`,
  ];
  if (lists.length > 0) {
    const isSeveral = lists.map(({ has }) => has).join(" or ");
    branches.push(unnested(keys, columns.ofEvent(), `${events} where ${where} and (${isSeveral})`));
  }
  for (const { has, list, own } of columns.several()) {
    const values = `(select *, unnest(${list}) as value_of from ${events} where ${where} and ${has})`;
    branches.push(unnested(keys, own, values));
  }
  const groups = keys.flatMap((key) => key.groups);
  const extra = keys.flatMap((key) => key.extra).map((name) => `any_value(${name}) as ${name}`);
  const values = aggregates.map((sql, i) => `${sql()} as a${i}`);
  return `select ${[...groups, ...extra, ...values, "count(*) as rows_of_group"].join(", ")}
    from (${branches.join(" union all by name ")})
    ${groups.length === 0 ? "" : `group by ${groups.join(", ")}`}`;
}

function listed(columns: readonly string[]): string {
  return columns.length === 0 ? "null as nothing" : columns.join(", ");
}

/** Returns a row for each combination of the values of keys that may have several. */
function unnested(keys: readonly CompiledKey[], columns: readonly string[], from: string): string {
  const lists = keys.flatMap(({ several }) => several ?? []);
  const others = keys.filter(({ several }) => several === null).flatMap((key) => key.columns);
  let sql = `select ${listed([...lists.map(({ list }, i) => `${list} as l${i}`), ...others, ...columns])} from ${from}`;
  for (const [i, { columns: ofEach }] of lists.entries()) {
    sql = `select * exclude (u${i}), ${ofEach(`u${i}`).join(", ")}
      from (select * exclude (l${i}), unnest(l${i}) as u${i} from (${sql}))`;
  }
  return sql;
}

/** The columns that aggregates need of each event. */
class Columns {
  readonly #bind: Binder;
  readonly #sources = new Map<string, { readonly name: string; readonly source: AggregateInput }>();
  readonly #conditions: string[] = [];
  #hasOrder = false;

  constructor(bind: Binder) {
    this.#bind = bind;
  }

  /** Adds the columns of an aggregate. @returns its SQL, valid once all aggregates are added */
  add(aggregate: Aggregate): () => string {
    if ("of" in aggregate) {
      const name = this.#name(`number ${aggregate.of}`, () => aggregateNumbers(aggregate.of, this.#bind));
      const aggregation = numberAggregation(aggregate);
      return () => (aggregation.from === "sums" ? aggregation.sql(sumsOfColumn(name)) : aggregation.sql(name));
    }
    switch (aggregate.kind) {
      case "count": {
        if (aggregate.where === null)
          return () => (this.#severals().length === 0 ? "count(*)" : "count(*) filter (where counted)");
        const name = `c${this.#conditions.push(conditionColumn(aggregate.where, this.#bind)) - 1}`;
        return () => `count(*) filter (where ${name})`;
      }
      case "distinct": {
        const name = this.#name(`value ${aggregate.field}`, () => valuesOfField(aggregate.field, this.#bind));
        return () => `count(distinct ${name})`;
      }
      case "first":
      case "last": {
        const one = (): AggregateInput => ({ one: firstOfField(aggregate.field, this.#bind), several: null });
        const name = this.#name(`first ${aggregate.field}`, one);
        this.#hasOrder = true;
        return () => `${aggregate.kind === "first" ? "arg_min" : "arg_max"}(${name}, moment)`;
      }
    }
    throw unknown(aggregate satisfies never);
  }

  #name(key: string, make: () => AggregateInput): string {
    const known = this.#sources.get(key) ?? { name: `s${this.#sources.size}`, source: make() };
    this.#sources.set(key, known);
    return known.name;
  }

  ofEvent(): string[] {
    return [
      ...Array.from(this.#sources.values(), ({ name, source }) => `${source.one} as ${name}`),
      ...this.#conditions.map((sql, i) => `${sql} as c${i}`),
      ...(this.#hasOrder ? ["{created: created, hi: id_hi, lo: id_lo} as moment"] : []),
      ...(this.#severals().length > 0 ? ["true as counted"] : []),
    ];
  }

  /**
   * Returns, for each source with several values per event, the columns of one value, `value_of`.
   */
  several(): { readonly has: string; readonly list: string; readonly own: readonly string[] }[] {
    const absent = this.#conditions.map((_, i) => `false as c${i}`);
    return this.#severals().map(({ name, has, list }) => ({
      has,
      list,
      own: [`value_of.v as ${name}`, ...absent, "false as counted"],
    }));
  }

  #severals(): { readonly name: string; readonly has: string; readonly list: string }[] {
    return Array.from(this.#sources.values()).flatMap(({ name, source: { several } }) =>
      several === null ? [] : [{ name, ...several }],
    );
  }
}
