import { LoggiaError } from "../../errors.ts";
import { Moment } from "../../http/moment.ts";
import type { Method, Route } from "../../http/route.ts";
import type { DeadLetterSummary, Operations } from "../../operations/operations.ts";
import type { ApiCall, ApiHandler, Context } from "../context.ts";
import { readJson } from "../input.ts";
import { DEAD_LETTER_BYTES } from "../response-sizes.ts";
import { RedriveOrder } from "../schemas/operations.ts";
import { ok } from "./json.ts";

/** Creates a route for service admins, on a process that offers operations. */
export type OperationRoute = (
  method: Method,
  path: string,
  handle: (call: ApiCall, operations: Operations) => ReturnType<ApiHandler>,
) => Route;

const LIMIT = 100;
const MAX_LIMIT = 500;

export function deadLetterRoutes(context: Context, route: OperationRoute): Route[] {
  return [
    route("GET", "/deadletters", async ({ query, memory }, { deadLetters }) => {
      const limit = parseLimit(query.get("limit"));
      await memory.take(limit * DEAD_LETTER_BYTES);
      const page = await deadLetters.list({
        after: parseAfter(query.get("after")),
        limit,
        state: parseState(query.get("state")),
      });
      return ok({ ...page, letters: page.letters.map(show) });
    }),
    route("POST", "/deadletters/redrive", async (call, { deadLetters }) => {
      const { all, ids } = await readJson(context, call, RedriveOrder);
      if ((all === undefined) === (ids === undefined)) {
        throw new LoggiaError("bad_parameter", "The body must hold either all, as true, or ids");
      }
      return ok(await deadLetters.redrive(ids ?? "all"));
    }),
  ];
}

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
