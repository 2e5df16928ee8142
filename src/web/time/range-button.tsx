import type { JSX } from "preact";

import type { App } from "../app.ts";
import { Icon } from "../parts/icons.tsx";
import { MenuButton } from "../parts/menu.tsx";
import type { Search } from "../state/search.ts";

const PRESETS = [
  ["-15m", "Last 15 minutes"],
  ["-1h", "Last hour"],
  ["-24h", "Last 24 hours"],
  ["-7d", "Last 7 days"],
  ["-30d", "Last 30 days"],
] as const;

/** The range of the search. */
export function RangeButton({ search }: { app: App; search: Search }): JSX.Element {
  const { from, to } = search.range.value;
  const label = PRESETS.find(([preset]) => preset === from && to === "now")?.[1] ?? "Chosen range";
  const items = PRESETS.map(([preset, words]) => ({
    label: words,
    checked: preset === from && to === "now",
    act: () => {
      search.range.value = { from: preset, to: "now" };
      search.start();
    },
  }));
  return (
    <MenuButton class="btn" label={`Range: ${label}, ${search.zone.value}`} items={[items]} menuClass="under end">
      <Icon name="clock" />
      {label} <Icon name="down" />
    </MenuButton>
  );
}
