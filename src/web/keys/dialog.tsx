import type { JSX } from "preact";

import type { App } from "../app.ts";
import { Dialog } from "../parts/dialog.tsx";
import type { Scope, Shortcut } from "./registry.ts";
import "../css/forms.css";
import "../css/keys.css";

/** How the list of shortcuts is laid out: three columns of scopes. */
const COLUMNS: readonly (readonly Scope[])[] = [
  ["Anywhere", "With the result"],
  ["In the list"],
  ["Go to", "In the query"],
];

const SIGNS: Readonly<Record<string, string>> = { ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

/** The list of the shortcuts that are bound, with the switch that turns single keys off. */
export function ShortcutsDialog({ app, onClose }: { app: App; onClose: () => void }): JSX.Element {
  const { preferences, shortcuts } = app;
  const { singleKeys } = preferences.now.value;
  return (
    <Dialog class="keys" title="Shortcuts" onClose={onClose}>
      <div class="cols3">
        {COLUMNS.map((scopes) => (
          <div>
            {scopes.map((scope) => (
              <ScopeList scope={scope} shortcuts={shortcuts.all.value.filter((each) => each.scope === scope)} />
            ))}
          </div>
        ))}
      </div>
      <div class="foot tickbox">
        <input
          id="single-keys"
          type="checkbox"
          checked={singleKeys}
          onChange={() => preferences.change({ singleKeys: !singleKeys })}
        />
        <label for="single-keys">Single keys are {singleKeys ? "on" : "off"}</label>
        <span class="note">Every one of them has a button as well.</span>
      </div>
    </Dialog>
  );
}

function ScopeList({ scope, shortcuts }: { scope: Scope; shortcuts: readonly Shortcut[] }): JSX.Element | null {
  if (shortcuts.length === 0) return null;
  return (
    <section>
      <h3>{scope}</h3>
      <dl>
        {shortcuts.map(({ keys, label }) => (
          <div>
            <dt>
              {keys
                .flatMap((key) => key.split("+"))
                .map((key) => (
                  <>
                    <kbd>{SIGNS[key] ?? key}</kbd>{" "}
                  </>
                ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
