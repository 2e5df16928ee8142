import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import { ownZone } from "../parts/time/zones.ts";

import type { WrittenRange } from "../parts/query/range.ts";

/** A person's settings of the page, stored in the browser. They contain nothing secret. */
export type Preferences = {
  /** `light`, `dark` or the system's scheme. */
  readonly theme: "light" | "dark" | "system";
  /** Name of a time zone; "" for the browser's own. */
  readonly zone: string;
  /** Whether single keys are shortcuts. */
  readonly singleKeys: boolean;
  /** How the query is edited; newcomers begin with `simple`. */
  readonly mode: "simple" | "lql";
  /** Columns by log; absent for the default. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
  /** Hidden classes by log: the person's `hide` options, as last read. */
  readonly hidden: Readonly<Record<string, readonly string[]>>;
  /** Ranges chosen by their ends, latest first. */
  readonly ranges: readonly WrittenRange[];
  /** The last opened log. */
  readonly log: string;
};

export type PreferenceStore = {
  readonly now: Signal<Preferences>;
  readonly change: (changes: Partial<Preferences>) => void;
};

/** Returns the name of the chosen time zone, or the browser's. */
export function preferredZone({ zone }: Preferences): string {
  return zone || ownZone();
}

const KEY = "loggia.preferences";
const STANDARD: Preferences = {
  theme: "system",
  zone: "",
  singleKeys: true,
  // Those who used the page before it knew modes were shown LQL.
  mode: "lql",
  columns: {},
  hidden: {},
  ranges: [],
  log: "",
};

/** Reads the preferences once. If storage is full or forbidden, changes last for this visit. */
export function createPreferences(storage: Storage | null): PreferenceStore {
  const now = signal(readPreferences(storage));
  return {
    now,
    change(changes) {
      now.value = { ...now.value, ...changes };
      try {
        storage?.setItem(KEY, JSON.stringify(now.value));
      } catch {
        // They last for this visit.
      }
    },
  };
}

function readPreferences(storage: Storage | null): Preferences {
  try {
    const written = storage?.getItem(KEY) ?? null;
    if (written === null) return { ...STANDARD, mode: "simple" };
    const stored: unknown = JSON.parse(written);
    return typeof stored === "object" && stored !== null ? { ...STANDARD, ...pickKnown(stored) } : STANDARD;
  } catch {
    return STANDARD;
  }
}

/** Returns the stored values whose keys and types match the defaults. */
function pickKnown(stored: object): Partial<Preferences> {
  const entries = Object.entries(stored).filter(
    ([name, value]) => Object.hasOwn(STANDARD, name) && typeof value === typeof STANDARD[name as keyof Preferences],
  );
  return Object.fromEntries(entries) as Partial<Preferences>;
}
