import type { JSX } from "preact";
import { useMemo } from "preact/hooks";

import { parseMoment } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { writeString } from "../../parts/query/print.ts";
import { ReadingLine, ReadingState, Unanswered } from "../../state/faults/reading-state.tsx";
import { countWithNoun, formatNumber } from "../../parts/text/numbers.ts";
import { useTitle } from "../../state/title.ts";
import { sendQuery } from "../../state/send-query.ts";
import type { Run, Search } from "../../state/search.ts";
import { useRead } from "../../state/use-read.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import "../../css/tables.css";
import "../../css/groups.css";

/** A tracked user, with the fields that the query's COLUMNS name. */
type UserRecord = Readonly<Record<string, string | number>>;

/** The users that a query finds (`GET users`), as a table; each leads to its events. */
export function UsersView({ app, search }: { readonly app: App; readonly search: Search }): JSX.Element {
  const run = search.run.value;
  const reading = useRead(run, () => readUsers(app, run), [], true);
  const { value, error } = reading;
  const formats = useMemo(() => formatsOfZone(run.zone), [run.zone]);
  const found = value.value;
  const head = found !== null ? countWithNoun(found.length, "user") : error.value === null ? "Searching…" : "No result";
  useTitle(app, head, search.log);
  const line = <ReadingLine search={search} reading={reading} />;
  const state = <ReadingState app={app} search={search} reading={reading} what="users" />;
  if (found === null)
    return (
      <Unanswered head={head}>
        {line}
        {state}
      </Unanswered>
    );
  const fields = Object.keys(found[0] ?? {});
  const showEvents = (user: string) => {
    search.query.value = `GET events WHERE user = ${writeString(user)}`;
    search.start();
  };
  return (
    <>
      <div class="found">
        <h1 id="found">{head}</h1>
        <span class="note">that the programs of {search.log} told of</span>
      </div>
      {line}
      {found.length === 0 ? (
        <p class="note pad">No user fits. Programs tell of theirs at /1/logs/{search.log}/users.</p>
      ) : (
        <div class="groups" id="list" tabIndex={0} role="region" aria-label="Users">
          <table class="table">
            <thead>
              <tr>
                {fields.map((field) => (
                  <th key={field} scope="col" class={field === "count" ? "num w-num" : undefined}>
                    {field}
                  </th>
                ))}
                <th scope="col">
                  <span class="sr">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((record) => (
                <tr key={JSON.stringify(record)}>
                  {fields.map((field) => (
                    <td key={field} class={field === "count" ? "num" : undefined}>
                      {shown(field, record[field] ?? "", formats.whole)}
                    </td>
                  ))}
                  <td class="num">
                    {typeof record["user"] === "string" && (
                      <button class="quiet" type="button" onClick={() => showEvents(String(record["user"]))}>
                        Events
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {state}
    </>
  );
}

async function readUsers({ client }: App, run: Run): Promise<readonly UserRecord[]> {
  return (await sendQuery<UserRecord>(client, run, run.typed)).body;
}

function shown(field: string, value: string | number, moment: (ms: number) => string): string {
  if (field === "created" || field === "seen") return moment(parseMoment(String(value)));
  return typeof value === "number" ? formatNumber(value) : value;
}
