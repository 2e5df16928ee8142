import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { DeadLetterSummary } from "../../operations/operations.ts";
import { ok } from "../replies.ts";
import { DEAD_LETTER_BYTES } from "../response-sizes.ts";
import { DeadLetterPageRecord, DeadLetterQuery, RedrivenRecord, RedriveOrder } from "../schemas/operations.ts";
import { managed } from "./managed.ts";
import { requireOperations } from "./operations.ts";

const LIMIT = 100;
const MAX_LIMIT = 500;

/** Routes of records that the pipeline could not process. */
export const DEAD_LETTER_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/deadletters",
    who: "service admin",
    id: "listDeadLetters",
    summary: "List the records that the pipeline could not process, with the reasons; for service admins",
    query: DeadLetterQuery,
    answers: { 200: { what: "A page of dead letters", schema: DeadLetterPageRecord } },
    errors: ["bus_unavailable", "unsupported"],
    async handle(context, { query, memory }) {
      const { deadLetters } = requireOperations(context);
      const limit = parseLimit(query.get("limit"));
      await memory.take(limit * DEAD_LETTER_BYTES);
      const page = await deadLetters.list({
        after: parseAfter(query.get("after")),
        limit,
        state: parseState(query.get("state")),
      });
      return ok({ ...page, letters: page.letters.map(show) });
    },
  }),
  managed({
    method: "POST",
    path: "/manage/1/deadletters/redrive",
    who: "service admin",
    id: "redriveDeadLetters",
    summary: "Send dead letters through the pipeline again; for service admins",
    json: RedriveOrder,
    answers: { 200: { what: "How many were sent, and which do not exist", schema: RedrivenRecord } },
    errors: ["bus_unavailable", "unsupported"],
    async handle(context, { input }) {
      const { deadLetters } = requireOperations(context);
      const { all, ids } = await input();
      if ((all === undefined) === (ids === undefined)) {
        throw new LoggiaError("bad_parameter", "The body must hold either all, as true, or ids");
      }
      return ok(await deadLetters.redrive(ids ?? "all"));
    },
  }),
];

function show({ time, redriven, ...letter }: DeadLetterSummary) {
  return { ...letter, time: new Moment(time), redriven: redriven === null ? null : new Moment(redriven) };
}

function parseAfter(text: string | null): string | null {
  if (text === null || /^(\d{1,9}-)?\d{1,15}$/.test(text)) return text;
  throw new LoggiaError("bad_parameter", "The parameter after must be the id of a dead letter, such as 17");
}

function parseLimit(text: string | null): number {
  const limit = text === null ? LIMIT : /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new LoggiaError("bad_parameter", `The parameter limit must be a whole number from 1 to ${MAX_LIMIT}`);
}

function parseState(text: string | null): "open" | "all" {
  const state = text ?? "open";
  if (state === "open" || state === "all") return state;
  throw new LoggiaError("bad_parameter", "The parameter state must be open or all");
}
