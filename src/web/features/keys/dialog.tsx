import type { JSX } from "preact";

import type { App } from "../../state/app.ts";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { listedFor } from "./listed.ts";
import type { ListedPlace } from "./listed.ts";
import "../../css/forms.css";
import "../../css/keys.css";

const SIGNS: Readonly<Record<string, string>> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  PageUp: "PgUp",
  PageDown: "PgDn",
};

/** Lists all shortcuts, those of the current screen first, and can turn single keys off. */
export function ShortcutsDialog({ app, onClose }: { app: App; onClose: () => void }): JSX.Element {
  const { location, preferences } = app;
  const { singleKeys } = preferences.now.value;
  return (
    <Dialog class="keys" title="Shortcuts" onClose={onClose}>
      <div class="places">
        {listedFor(location.place.value.screen).map((place) => (
          <ShortcutsOfPlace key={place.title} place={place} />
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

function ShortcutsOfPlace({ place: { title, isHere, lines } }: { place: ListedPlace }): JSX.Element {
  return (
    <section class={isHere ? undefined : "elsewhere"}>
      <h3>{title}</h3>
      <dl>
        {lines.map(({ keys, label }) => (
          <div key={label}>
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
