import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { excludeChoice, onlyChoice, readQuery } from "../../parts/query/compose.ts";
import { BEGINNING } from "../../parts/query/range.ts";
import { stepBeside, stepOfRange } from "../../parts/query/steps.ts";
import { TextPieces } from "../../parts/text/pieces.tsx";
import { Sparkline } from "../../parts/groups/lines.tsx";
import { groupsOfRecords } from "../../parts/groups/model.ts";
import type { GroupRow, Groups } from "../../parts/groups/model.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { cutText } from "../../parts/text/visible-text.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { ReadingLine, ReadingState } from "../../state/faults/reading-state.tsx";
import { sendQuery } from "../../state/send-query.ts";
import { sinceFirstEvent } from "../../state/beginning.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import {
  classText,
  courseQuery,
  MOST_CHARACTERS,
  MOST_PATTERNS,
  patternQueries,
  patternRow,
  piecesOfPattern,
} from "./patterns.ts";
import type { PatternRow } from "./patterns.ts";
import "../../css/groups.css";
import "../../css/tables.css";

type Patterns = {
  readonly rows: readonly PatternRow[];
  readonly total: number;
};

/** Steps by which sparks are coarser than the histogram, since they are narrower. */
const COARSER = 2;

/** Shows the patterns of the result with their counts, over all of it. */
export function PatternsView({ app, search }: { app: App; search: Search }): JSX.Element {
  const run = search.run.value;
  const reading = useRead(run, () => readPatterns(app, run), [], true);
  const { value: found } = reading;
  const { value: courses } = useRead(run, () => readCourses(app, run, found.value), [found.value]);
  const line = <ReadingLine search={search} reading={reading} />;
  const state = <ReadingState app={app} search={search} reading={reading} what="patterns" />;
  if (found.value === null)
    return (
      <>
        {line}
        {state}
      </>
    );
  const { rows, total } = found.value;
  const byPattern = new Map(courses.value?.rows.map((row) => [row.keys[0] ?? "", row] as const));
  const choose = (by: typeof onlyChoice, pattern: string) => {
    const parsed = readQuery(search.query.value);
    if (parsed === null) return;
    search.query.value = by(parsed, "pattern", pattern);
    search.start();
  };
  return (
    <>
      {line}
      <div class="groups ruled" id="list" tabIndex={0} role="region" aria-label="Patterns">
        <p class="sr" role="status">
          {total} patterns
        </p>
        <table class="table tight">
          <thead>
            <tr>
              <th scope="col" class="num w-count" aria-sort="descending">
                Events <Icon name="sortDown" />
              </th>
              <th scope="col" class="w-trend">
                Over time
              </th>
              <th scope="col" class="w-class">
                Class
              </th>
              <th scope="col">{formatNumber(total)} patterns</th>
              <th scope="col">
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.pattern}>
                <td class="num">{formatNumber(row.count)}</td>
                <td>
                  <Course row={byPattern.get(row.pattern)} courses={courses.value} />
                </td>
                <ClassCell row={row} nameOf={(key) => app.classes.nameOf(run.log, key)} />
                <td class="pat">
                  <code>
                    <PatternText pattern={row.pattern} />
                  </code>
                </td>
                <td class="act">
                  {row.pattern.length < MOST_CHARACTERS && (
                    <>
                      <button class="quiet" type="button" onClick={() => choose(onlyChoice, row.pattern)}>
                        Only
                      </button>
                      <button class="quiet" type="button" onClick={() => choose(excludeChoice, row.pattern)}>
                        All but
                      </button>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p class="ending">No events match, so there are no patterns.</p>}
        {total > rows.length && <p class="ending">These are the {MOST_PATTERNS} most frequent ones.</p>}
      </div>
      {state}
    </>
  );
}

/** A cell with the class of a pattern, in its colour if all events have it; else with its share. */
function ClassCell({ row, nameOf }: { row: PatternRow; nameOf: (key: string) => string }): JSX.Element {
  const { count, classed, classes } = row;
  const isOfAll = classes === 1 && classed === count;
  const words = classText(row, nameOf);
  const title = `${formatNumber(classed)} of ${countWithNoun(count, "event")} ${classed === 1 ? "has" : "have"} a class`;
  return (
    <td
      class={isOfAll ? "kcell" : "kcell note"}
      data-class={isOfAll ? row.class : undefined}
      title={classed > 0 && !isOfAll ? title : undefined}
    >
      {words}
    </td>
  );
}

/** A pattern with its placeholders set apart and invisible characters named. */
function PatternText({ pattern }: { pattern: string }): JSX.Element {
  return (
    <>
      {piecesOfPattern(cutText(pattern)).map(({ text, varies }) =>
        varies ? (
          <i>
            <TextPieces text={text} />
          </i>
        ) : (
          <TextPieces text={text} />
        ),
      )}
    </>
  );
}

function Course({ row, courses }: { row: GroupRow | undefined; courses: Groups | null }): JSX.Element | null {
  return row === undefined || courses === null ? null : <Sparkline row={row} times={courses.times} />;
}

async function readPatterns({ client }: App, run: Run): Promise<Patterns | null> {
  const queries = patternQueries(run.query, run.moments, run.zone);
  if (queries === null) return null;
  const send = (query: string) => sendQuery<GroupRecord>(client, run, query);
  const [patterns, total] = await Promise.all([send(queries.patterns), send(queries.total)]);
  return {
    rows: patterns.body.map(patternRow),
    total: Number(total.body[0]?.["patterns"] ?? 0),
  };
}

async function readCourses(app: App, run: Run, found: Patterns | null): Promise<Groups | null> {
  if (found === null) return null;
  const moments = run.moments.from === BEGINNING ? await sinceFirstEvent(app, run) : run.moments;
  const step = stepBeside(stepOfRange(moments), COARSER);
  const patterns = found.rows.map(({ pattern }) => pattern);
  const query = courseQuery(run.query, patterns, step, moments, run.zone);
  if (query === null) return null;
  const { body } = await sendQuery<GroupRecord>(app.client, run, query);
  return groupsOfRecords(
    [
      { kind: "field", name: "pattern" },
      { kind: "time", name: step.name, step },
    ],
    body,
    run.zone,
  );
}
