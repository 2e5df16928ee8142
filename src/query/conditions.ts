import { fold } from "../events/text.ts";
import type { LoggiaError } from "../errors.ts";
import { equalsAttribute } from "./attributes.ts";
import { readDate } from "./dates.ts";
import { queryFault } from "./fault.ts";
import { fieldsSentence, unknownField } from "./field-faults.ts";
import { canonical } from "./fields.ts";
import type { FieldInfo, FieldTable } from "./fields.ts";
import { compareLevel, LEVEL_CHOICES, rankOfLevel } from "./levels.ts";
import { planNear, planWithin } from "./places.ts";
import { isAttribute } from "./plan.ts";
import type { AttributeField, ComparisonOp, Condition, SearchedField } from "./plan.ts";
import { checkExpression, matchCondition } from "./regex/regex.ts";
import type { ExpressionSizes } from "./regex/regex.ts";
import type { CompareOp, Expression, Literal, Name, Occurs, TextSpan, StringLiteral } from "./syntax.ts";
import { dayEnd, firstMoment, readWhen, spanOfOccurs } from "./when.ts";
import type { Moment } from "./when.ts";
import type { Zone } from "./zone.ts";

/** What a condition is planned with. */
export type Context<Field extends string> = {
  readonly text: string;
  readonly table: FieldTable<Field>;
  readonly now_ms: number;
  readonly zone: Zone;
  /** Total size of the query's expressions so far. */
  readonly expressions: ExpressionSizes;
};

type Compared<Field extends string> = {
  readonly type: "text" | "number" | "date" | "attribute";
  readonly field: Field;
};

/**
 * @throws LoggiaError `bad_query` if a field is unknown, or compared with a value of another type
 */
export function planCondition<Field extends string>(context: Context<Field>, expression: Expression): Condition<Field> {
  switch (expression.kind) {
    case "and":
    case "or":
      return { kind: expression.kind, conditions: expression.parts.map((part) => planCondition(context, part)) };
    case "not":
      return { kind: "not", condition: planCondition(context, expression.part) };
    case "compare":
      if (isLevel(context, expression.field)) return planLevel(context, expression.op, expression.value);
      return planComparison(context, comparedField(context, expression.field), expression.op, expression.value);
    case "in":
      if (isLevel(context, expression.field)) {
        return { kind: "or", conditions: expression.values.map((value) => planLevel(context, "=", value)) };
      }
      return planMembership(context, comparedField(context, expression.field), expression.values);
    case "contains":
      return planContains(context, expression.field, expression.value);
    case "matches":
      return planMatches(context, expression.field, expression.value);
    case "null":
      return planAbsence(context, expression.field);
    case "within":
      checkPlace(context, expression.field, "WITHIN");
      return planWithin(context.text, expression.edges);
    case "near":
      checkPlace(context, expression.field, "NEAR");
      return planNear(context.text, expression.circle);
  }
  throw expression satisfies never;
}

/** Plans OCCURS: within a day, from a moment on, or from one moment to another (exclusive). */
export function planOccurs<Field extends string>(
  context: Context<Field>,
  occurs: Occurs,
  otherwise: Field,
): Condition<Field> {
  const field = occurs.field === null ? otherwise : dateField(context, occurs.field);
  const { from, to } = spanOfOccurs(context, occurs);
  return to === null ? { kind: "number", field, op: ">=", value: from } : between(field, from, to);
}

function planComparison<Field extends string>(
  context: Context<Field>,
  { type, field }: Compared<Field>,
  op: CompareOp,
  literal: Literal,
): Condition<Field> {
  if (op === "!=") return { kind: "not", condition: planComparison(context, { type, field }, "=", literal) };
  switch (type) {
    case "text":
      return { kind: "text", field, op, value: textOf(context, field, literal) };
    case "attribute":
      return planAttribute(context, field, op, literal);
    case "number":
      return { kind: "number", field, op, value: numberOf(context, field, literal) };
    case "date": {
      const moment = momentOf(context, field, literal);
      if (op === "=" && moment.kind === "day") return between(field, moment.start, dayEnd(moment, context));
      return { kind: "number", field, op, value: firstMoment(moment) };
    }
  }
  throw type satisfies never;
}

function planMembership<Field extends string>(
  context: Context<Field>,
  compared: Compared<Field>,
  literals: readonly Literal[],
): Condition<Field> {
  if (compared.type === "attribute") return planAttributeMembership(context, compared.field, literals);
  if (compared.type === "text") {
    return {
      kind: "in",
      field: compared.field,
      values: literals.map((literal) => textOf(context, compared.field, literal)),
    };
  }
  return { kind: "or", conditions: literals.map((literal) => planComparison(context, compared, "=", literal)) };
}

/**
 * Compares attributes as numbers with a number, and for equality with a text that spells one;
 * otherwise as texts.
 */
function planAttribute<Field extends string>(
  context: Context<Field>,
  field: Field,
  op: ComparisonOp,
  literal: Literal,
): Condition<Field> {
  if (literal.kind === "number") return { kind: "number", field, op, value: literal.value };
  const value = attributeText(context, field, literal);
  return op === "=" ? equalsAttribute(field, value) : { kind: "text", field, op, value: fold(value) };
}

function planAttributeMembership<Field extends string>(
  context: Context<Field>,
  field: Field,
  literals: readonly Literal[],
): Condition<Field> {
  const parts = literals.map((literal) => planAttribute(context, field, "=", literal));
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.value] : []));
  const numbers = parts.filter(({ kind }) => kind === "number");
  if (numbers.length === 0) return { kind: "in", field, values: texts };
  return { kind: "or", conditions: texts.length === 0 ? numbers : [...numbers, { kind: "in", field, values: texts }] };
}

function attributeText<Field extends string>(context: Context<Field>, field: Field, literal: Literal): string {
  if (literal.kind === "string") return literal.value;
  const hint = "Attributes cannot hold dates: write a text, such as '2011-09-19', or a number.";
  throw fault(context, literal.span, `${field} holds texts or numbers, expected a string or a number`, hint);
}

function checkPlace<Field extends string>(context: Context<Field>, name: Name, operator: string): void {
  const info = lookUp(context, name);
  if (info.type === "place") return;
  const hint = context.table.fields.has("geo") ? "Use geo." : null;
  throw fault(context, name.span, `${operator} needs a place, and ${name.text} holds none`, hint);
}

function planContains<Field extends string>(
  context: Context<Field>,
  name: Name,
  literal: StringLiteral,
): Condition<Field> {
  const field = searchedField(context, name, "CONTAINS");
  if (literal.value === "") throw fault(context, literal.span, "CONTAINS needs at least one character");
  return { kind: "contains", field, value: literal.value };
}

function planMatches<Field extends string>(
  context: Context<Field>,
  name: Name,
  literal: StringLiteral,
): Condition<Field> {
  const field = searchedField(context, name, "MATCHES");
  const expression = checkExpression(literal.value, context.expressions);
  if (expression.kind === "ok") return matchCondition(field, literal.value);
  const start =
    literal.span.start + offsetInLiteral(context.text.slice(literal.span.start, literal.span.end), expression.at);
  throw fault(context, { start, end: literal.span.end }, `invalid RE2 expression: ${expression.reason}`);
}

function isLevel<Field extends string>(context: Context<Field>, name: Name): boolean {
  return lookUp(context, name).type === "level";
}

function planLevel<Field extends string>(context: Context<Field>, op: CompareOp, literal: Literal): Condition<Field> {
  const rank = literal.kind === "string" ? rankOfLevel(literal.value) : null;
  if (rank === null) throw fault(context, literal.span, "this is not a level", `Use one of ${LEVEL_CHOICES}.`);
  // Only events have levels, and their fields include the tags.
  const condition = compareLevel(op === "!=" ? "=" : op, rank) as Condition<Field>;
  return op === "!=" ? { kind: "not", condition } : condition;
}

function planAbsence<Field extends string>(context: Context<Field>, name: Name): Condition<Field> {
  const info = lookUp(context, name);
  if (info.type === "level") return compareLevel("=", 0) as Condition<Field>;
  if (info.type === "annotation") throw notInConditions(context, name);
  return { kind: "absent", field: info.field };
}

function comparedField<Field extends string>(context: Context<Field>, name: Name): Compared<Field> {
  const info = lookUp(context, name);
  if (info.type === "annotation") throw notInConditions(context, name);
  if (info.type === "level") {
    const hint = "Compare it: level >= 'warn'. Or test the tags.";
    throw fault(context, name.span, "a level is compared as a whole", hint);
  }
  if (info.type !== "place" && info.type !== "searched") return info;
  const hint =
    info.type === "searched"
      ? "Search it: data CONTAINS '…' or data MATCHES '…'."
      : `Test whether it is present: ${info.field} IS NOT NULL.`;
  throw fault(context, name.span, `${info.field} cannot be compared`, hint);
}

function searchedField<Field extends string>(
  context: Context<Field>,
  name: Name,
  operator: string,
): SearchedField<Field> {
  const info = lookUp(context, name);
  if (info.type === "searched") return info.field;
  const { type, field } = comparedField(context, name);
  if (type === "text" || type === "attribute") return field;
  throw fault(context, name.span, `${operator} needs a field that holds text, and ${field} holds a ${type}`);
}

function dateField<Field extends string>(context: Context<Field>, name: Name): Field {
  const info = lookUp(context, name);
  if (info.type === "date") return info.field;
  const dates = [...context.table.fields].flatMap(([key, { type }]) => (type === "date" ? [key] : []));
  throw fault(
    context,
    name.span,
    `OCCURS needs a field that holds a date, and ${canonical(name.text)} holds none`,
    `Use ${dates.join(" or ")}.`,
  );
}

function lookUp<Field extends string>(context: Context<Field>, name: Name): FieldInfo<Field> {
  if (isAttribute(name.text)) return lookUpAttribute(context, name, name.text);
  const info = context.table.fields.get(canonical(name.text));
  if (info !== undefined) return info;
  throw unknownField(context.text, context.table.name, name, [...context.table.fields.keys()]);
}

function lookUpAttribute<Field extends string>(
  { table, text }: Context<Field>,
  { span }: Name,
  field: AttributeField,
): FieldInfo<Field> {
  if (table.attribute !== null) return { type: "attribute", field: table.attribute(field) };
  throw queryFault(text, span, `${table.name} have no attributes`, fieldsSentence(table.name));
}

function notInConditions(context: { readonly text: string }, name: Name): LoggiaError {
  return fault(
    context,
    name.span,
    `${name.text} cannot be used in a condition`,
    `The list of ${name.text.toLowerCase()} has its own URL.`,
  );
}

function textOf(context: { readonly text: string }, field: string, literal: Literal): string {
  if (literal.kind === "string") return fold(literal.value);
  const written = context.text.slice(literal.span.start, literal.span.end);
  throw fault(context, literal.span, `${field} holds text, expected a string`, `Put strings in quotes: '${written}'.`);
}

function numberOf(context: { readonly text: string }, field: string, literal: Literal): number {
  if (literal.kind === "number") return literal.value;
  const isQuoted = literal.kind === "string" && /^[+-]?\d+(\.\d+)?$/.test(literal.value);
  const hint = isQuoted ? `Write numbers without quotes: ${literal.value}.` : null;
  throw fault(context, literal.span, `${field} holds a number, expected a number such as 4.5`, hint);
}

/**
 * Converts a literal to a moment. A number is milliseconds since the Unix epoch, as in the list
 * parameter `created`.
 */
function momentOf<Field extends string>(context: Context<Field>, field: string, literal: Literal): Moment {
  switch (literal.kind) {
    case "number":
      return { kind: "moment", at: literal.value };
    case "when":
      return readWhen(context, literal);
    case "string": {
      const date = readDate(literal.value, context.zone);
      if (date.kind !== "fault") return date;
      throw fault(context, literal.span, `${field} holds a date, and this is not one: ${date.reason}`);
    }
  }
  throw literal satisfies never;
}

function between<Field extends string>(field: Field, from: number, to: number): Condition<Field> {
  return {
    kind: "and",
    conditions: [
      { kind: "number", field, op: ">=", value: from },
      { kind: "number", field, op: "<", value: to },
    ],
  };
}

/** Returns the offset of a string's n-th unit within its literal, where quotes may be doubled. */
function offsetInLiteral(literal: string, index: number): number {
  const quote = literal[0];
  let offset = 1;
  for (let i = 0; i < index; i++) offset += literal[offset] === quote ? 2 : 1;
  return offset;
}

function fault(
  context: { readonly text: string },
  span: TextSpan,
  what: string,
  hint: string | null = null,
): LoggiaError {
  return queryFault(context.text, span, what, hint);
}
