import type { JSX } from "preact";

import { ownZone } from "../../parts/time/zones.ts";
import { PaneHead } from "../../parts/controls/pane.tsx";
import type { PartProperties } from "./part.ts";

const THEMES = { system: "As the system", light: "Light", dark: "Dark" } as const;

/** Preferences of the page, stored in this browser. */
export function PreferencesPane({ app }: PartProperties): JSX.Element {
  const { theme, zone, singleKeys } = app.preferences.now.value;
  const own = ownZone();
  return (
    <>
      <PaneHead title="Preferences">These are kept by this browser.</PaneHead>
      <div class="form">
        <div>
          <label for="theme">Theme</label>
          <select
            class="in"
            id="theme"
            value={theme}
            onChange={(event) => app.preferences.change({ theme: event.currentTarget.value as typeof theme })}
          >
            {Object.entries(THEMES).map(([name, words]) => (
              <option value={name}>{words}</option>
            ))}
          </select>
        </div>
        <div>
          <label for="zone">Time zone</label>
          <select
            class="in"
            id="zone"
            value={zone}
            onChange={(event) => app.preferences.change({ zone: event.currentTarget.value })}
          >
            <option value="">The browser's own, {own}</option>
            {Intl.supportedValuesOf("timeZone").map((name) => (
              <option value={name}>{name}</option>
            ))}
            <option value="UTC">UTC</option>
          </select>
        </div>
        <div class="tickbox">
          <input
            id="keys-on"
            type="checkbox"
            checked={singleKeys}
            onChange={() => app.preferences.change({ singleKeys: !singleKeys })}
          />
          <label for="keys-on">Single keys are shortcuts</label>
        </div>
      </div>
    </>
  );
}
