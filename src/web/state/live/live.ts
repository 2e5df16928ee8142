import { computed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import type { App } from "../app.ts";
import { BEGINNING } from "../../parts/query/range.ts";
import type { FollowedEnd } from "../../parts/list/list-view.ts";
import { PagedRows } from "../../parts/rows/paged-rows.ts";
import { listQuestion } from "../../parts/rows/question.ts";
import { momentInLql, textWithCondition, textWithoutClauses } from "../../parts/query/clauses.ts";
import { pageReaderOfRun } from "../read-page.ts";
import type { Run } from "../search.ts";
import { isCountInUse } from "./in-use.ts";
import { LiveCounts } from "./live-counts.ts";
import { LiveRows } from "./live-rows.ts";
import { isFinalFault, tailStreams } from "./stream.ts";
import { Tail } from "./tail.ts";

/** A live tail of a query. */
export type LiveTail = {
  readonly run: Run;
  readonly rows: LiveRows;
  readonly tail: Tail;
  readonly follow: ReadonlySignal<FollowedEnd>;
  /** Counts for the heading, the bars and the fields. */
  readonly counts: LiveCounts;
};

/** Later than any event. */
const FAR = Date.UTC(9999, 11, 31);

export function createLive(app: App, run: Run): LiveTail {
  const query = textWithoutClauses(run.query, ["sort", "take", "skip", "columns", "occurs"]);
  const older = (id: string): PagedRows => {
    const range = { from: run.moments.from, to: FAR };
    const question = listQuestion(textWithCondition(query, `id < '${id}'`), range, "desc");
    return new PagedRows({ question, read: pageReaderOfRun(app.client, run) });
  };
  const rows = new LiveRows({ order: run.order, older });
  // Late events with a `created` before the range are excluded.
  const { from } = run.moments;
  const followed = from === BEGINNING ? query : textWithCondition(query, `created >= ${momentInLql(from)}`);
  const tail = new Tail({ rows, open: tailStreams(app.client, { ...run, query: followed }), isFinal: isFinalFault });
  const growing = run.order === "desc" ? "top" : "bottom";
  const counts = new LiveCounts({ run, tail, isInUse: () => isCountInUse(document) });
  return { run, rows, tail, counts, follow: computed(() => (tail.pause.value === null ? growing : null)) };
}
