import type { App } from "../app.ts";
import { hasColumn, toggleColumn } from "../../parts/rows/columns.ts";
import { textWithCondition } from "../../parts/query/clauses.ts";
import type { Results } from "../results.ts";
import { actWith } from "../../parts/controls/act-with.ts";
import { mayChange } from "../roles.ts";
import type { Search } from "../search.ts";
import type { Bookmarks } from "../bookmarks.ts";
import { dataActions } from "./data-actions.ts";
import type { EventActions } from "../../parts/event/event-actions.ts";

type Owners = {
  readonly app: App;
  readonly search: Search;
  readonly results: Results;
  readonly bookmarks: Bookmarks;
};

/** Returns the actions on the events of a search's list. */
export function searchActions({ app, search, results, bookmarks }: Owners): EventActions {
  const { client, location } = app;
  const ofData = dataActions(app, search.log);
  const run = (query: string): void => {
    search.query.value = query;
    search.start();
  };
  return {
    isBookmarked: bookmarks.has,
    bookmark: (row) => void bookmarks.toggle(row),
    copy: (form, row) =>
      actWith(app, "Not copied", import("./copy-actions.ts"), ({ copyEvent }) =>
        copyEvent(app, search.log, { form, row, readData: ofData.readData }),
      ),
    copyLink: (row) =>
      actWith(app, "The link was not copied", import("./copy-link.ts"), ({ copyLink }) => copyLink(app, search, row)),
    context: (row) => {
      results.contextTop = results.control?.view.screenTopOf(row.id) ?? null;
      location.go({ screen: "context", part: row.id, parameters: location.place.peek().parameters });
    },
    makeClass: mayChange(app, search.log)
      ? (row) => location.go({ screen: "classes", part: "", parameters: new Map([["event", row.id]]) })
      : null,
    showAlike: (row) =>
      actWith(app, "Events like this could not be shown", import("./alike.ts"), ({ patternCondition }) =>
        run(textWithCondition(search.run.peek().typed, patternCondition(row))),
      ),
    onValue: (action, field, value) => {
      if (action === "column") results.setColumns(toggleColumn(results.columns.peek(), field));
      else
        actWith(app, "The query was not changed", import("../../parts/event/conditions.ts"), ({ queryAfter }) => {
          const query = queryAfter(search.run.peek().typed, action, field, value);
          if (query !== null) run(query);
        });
    },
    isColumn: (field) => hasColumn(results.columns.peek(), field),
    ...ofData,
    countAlike: async (row) => (await import("./alike.ts")).countAlike(client, search.run.peek(), row),
  };
}
