import { LoggiaError } from "../../errors.ts";
import { hasBody } from "../../http/body.ts";
import { Moment } from "../../http/moment.ts";
import type { Reclassification, Reclassifications } from "../../operations/reclassification.ts";
import type { Context } from "../context.ts";
import { accepted, ok } from "../replies.ts";
import { ReclassificationRecord } from "../schemas/answers.ts";
import { ReclassifyOrder } from "../schemas/inputs.ts";
import { managed } from "./managed.ts";
import { readMomentField } from "./moment-field.ts";

const base = { path: "/manage/1/logs/:log/reclassify", who: "log admin" } as const;

/** Routes to reclassify stored events by the current filters, and to read the progress. */
export const RECLASSIFY_ROUTES = [
  managed({
    ...base,
    method: "GET",
    id: "readReclassification",
    summary: "Read the progress of the last reclassification; for admins of the log",
    answers: { 200: { what: "Its state and progress", schema: ReclassificationRecord } },
    errors: ["store_unavailable", "unsupported"],
    handle: async (context, { access: { log } }) => ok(show(await ordersOf(context).last(log.key))),
  }),
  managed({
    ...base,
    method: "POST",
    id: "reclassify",
    summary: "Reclassify stored events by the current class filters; for admins of the log",
    json: ReclassifyOrder,
    answers: {
      202: { what: "The reclassification was ordered, or is running already", schema: ReclassificationRecord },
    },
    errors: ["conflict", "store_unavailable", "unsupported"],
    async handle(context, { access: { log }, request, input }) {
      const { from } = hasBody(request) ? await input() : {};
      const orders = ordersOf(context);
      const start = from === undefined ? null : readMomentField("from", from);
      return accepted(show(await orders.order(log.key, start)));
    },
  }),
];

function ordersOf({ reclassifications }: Context): Reclassifications {
  if (reclassifications !== undefined) return reclassifications;
  throw new LoggiaError("unsupported", "This process does not offer reclassification");
}

const NONE = {
  state: "none",
  from: null,
  started: null,
  finished: null,
  total: null,
  done: 0,
  changed: 0,
  reason: null,
};

function show(record: Reclassification | null) {
  if (record === null) return NONE;
  const { state, from, started, finished, total, done, changed, reason } = record;
  return {
    state,
    from: moment(from),
    started: moment(started),
    finished: moment(finished),
    // Events posted after the start are examined too.
    total: total === null ? null : Math.max(total, done),
    done,
    changed,
    reason,
  };
}

function moment(ms: number | null): Moment | null {
  return ms === null ? null : new Moment(ms);
}
