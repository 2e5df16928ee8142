import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import type { SavedQuery } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { Form, formValues } from "../../parts/controls/form.tsx";
import { Progress } from "../../parts/controls/progress.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { Search } from "../../state/search.ts";
import "../../css/blank.css";
import "../../css/forms.css";
import "../../css/saved.css";
import { NameText } from "../../parts/text/pieces.tsx";
import { visibleText } from "../../parts/text/visible-text.ts";

export type SavedListProperties = { readonly app: App; readonly search: Search; readonly close: () => void };

/** Saves the typed query and opens saved ones. */
export function SavedList({ app, search, close }: SavedListProperties): JSX.Element {
  const path = pathOf(search);
  const saved = useResource<readonly SavedQuery[]>(app, path);
  const { fault, isBusy, act } = useAction();
  const first = useRef<HTMLInputElement>(null);
  // The dialog is shown before this list is loaded.
  useEffect(() => first.current?.focus(), []);
  const save = (form: HTMLFormElement) =>
    act(async () => {
      const { name = "", shared } = formValues(form);
      const json = { name, query: search.query.peek(), tz: search.zone.peek(), shared: shared === "on" };
      await app.client.request(path, { method: "POST", json });
      close();
      app.toaster.show(`Saved as ${name}`);
    });
  const queries = saved.value.value ?? [];
  return (
    <>
      <Form class="form pad" onSubmit={save}>
        <div>
          <label for="saved-name">Save this query as</label>
          <input ref={first} class="in" id="saved-name" name="name" required maxLength={100} />
        </div>
        <div class="tickbox">
          <input id="saved-shared" type="checkbox" name="shared" />
          <label for="saved-shared">For everyone who reads {search.log}</label>
        </div>
        {(fault.value ?? saved.fault.value) !== null && (
          <p class="err" role="alert">
            {fault.value ?? saved.fault.value}
          </p>
        )}
        <div class="save">
          <button class="btn solid" type="submit" disabled={isBusy.value}>
            Save
          </button>
        </div>
      </Form>
      {queries.length > 0 && (
        <>
          <hr />
          <h3>Saved queries</h3>
          <Choices app={app} search={search} close={close} queries={queries} />
        </>
      )}
    </>
  );
}

/** Opens saved queries, beside the query's field. */
export function SavedOpener({ app, search, close }: SavedListProperties): JSX.Element {
  const saved = useResource<readonly SavedQuery[]>(app, pathOf(search));
  const root = useRef<HTMLDivElement>(null);
  const queries = saved.value.value;
  useEffect(() => root.current?.querySelector("button")?.focus(), [queries]);
  return (
    <div ref={root}>
      {saved.fault.value !== null ? (
        <p class="pad err" role="alert">
          {saved.fault.value}
        </p>
      ) : queries === null ? (
        <Progress />
      ) : queries.length === 0 ? (
        <p class="pad note">No query of {search.log} was saved yet. Save one beside its result.</p>
      ) : (
        <Choices app={app} search={search} close={close} queries={queries} />
      )}
    </div>
  );
}

function pathOf({ log }: Search): string {
  return `/manage/1/logs/${log}/queries`;
}

type ChoicesProperties = SavedListProperties & { readonly queries: readonly SavedQuery[] };

function Choices({ app, search, close, queries }: ChoicesProperties): JSX.Element {
  const open = ({ query }: SavedQuery) => {
    search.query.value = query;
    search.start();
    close();
  };
  const own = app.session.account.value?.email;
  return (
    <ul class="saved">
      {queries.map((each) => (
        <li key={`${each.owner} ${each.name}`}>
          <button class="pick" type="button" title={visibleText(each.query)} onClick={() => open(each)}>
            <NameText text={each.name} />
            <span class="hint">{each.owner === own ? (each.shared ? "shared" : "") : each.owner}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
