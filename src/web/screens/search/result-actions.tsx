import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { App } from "../../state/app.ts";
import type { ExportFormProperties } from "../../features/export/export-form.tsx";
import { shortcut } from "../../parts/keys/table.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { MenuButton } from "../../parts/controls/menu.tsx";
import { PopoverButton } from "../../parts/controls/popover.tsx";
import type { SavedListProperties } from "../../features/saved/saved-list.tsx";
import { actWith } from "../../parts/controls/act-with.ts";
import { lazy } from "../../parts/controls/lazy.tsx";
import type { Run, Search } from "../../state/search.ts";

const ExportForm = lazy<ExportFormProperties>(
  async () => (await import("../../features/export/export-form.tsx")).ExportForm,
);
const SavedList = lazy<SavedListProperties>(
  async () => (await import("../../features/saved/saved-list.tsx")).SavedList,
);

/** Actions on a result: save its query, copy its address, export all of it. */
export function ResultActions({ app, search, run }: { app: App; search: Search; run: Run }): JSX.Element {
  const root = useRef<HTMLSpanElement>(null);
  const press = (name: string) => root.current?.querySelector<HTMLElement>(`[data-act=${name}] button`)?.click();
  const copyLink = () =>
    actWith(app, "The link was not copied", import("../../state/actions/copy-link.ts"), ({ copyLink: copy }) =>
      copy(app, search, null),
    );
  useLayoutEffect(
    () =>
      app.shortcuts.bind([
        shortcut("search", "export", () => press("export")),
        shortcut("search", "save", () => press("save")),
      ]),
    [],
  );
  return (
    <span ref={root} class="result-acts">
      <span data-act="save" class="hide-small">
        <PopoverButton
          class="quiet"
          popoverClass="under end form-pop"
          popoverLabel="Saved queries"
          renderContent={(close) => <SavedList app={app} search={search} close={close} />}
        >
          <Icon name="star" />
          Save
        </PopoverButton>
      </span>
      <button class="quiet hide-small" type="button" onClick={copyLink}>
        <Icon name="link" />
        Copy link
      </button>
      <span data-act="export" class="hide-small">
        <PopoverButton
          class="quiet"
          popoverClass="under end form-pop"
          popoverLabel="Export"
          renderContent={(close) => <ExportForm app={app} run={run} close={close} />}
        >
          <Icon name="download" />
          Export
        </PopoverButton>
      </span>
      <MenuButton
        class="quiet icon only-small"
        label="More"
        menuClass="under end"
        items={[
          [
            { label: "Events", act: () => app.location.go({ parameters: withView(app, null) }) },
            { label: "Patterns", act: () => app.location.go({ parameters: withView(app, "patterns") }) },
          ],
          [{ label: "Copy link", act: copyLink }],
        ]}
      >
        <Icon name="more" />
      </MenuButton>
    </span>
  );
}

function withView({ location }: App, view: string | null): ReadonlyMap<string, string> {
  const parameters = new Map(location.place.peek().parameters);
  if (view === null) parameters.delete("view");
  else parameters.set("view", view);
  return parameters;
}
