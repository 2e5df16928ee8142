import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import { ownZone } from "../time/zones.ts";

import type { Range } from "../ask/range.ts";

/** What a person chose for the page, kept by the browser. Nothing secret is among it. */
export type Preferences = {
  /** `light`, `dark` or what the system says. */
  readonly theme: "light" | "dark" | "system";
  /** A zone by name, or the browser's own. */
  readonly zone: string;
  /** Whether single keys are shortcuts. */
  readonly singleKeys: boolean;
  /** Of each log, its columns; absent: the standard ones. */
  readonly columns: Readonly<Record<string, readonly string[]>>;
  /** Of each log, the classes that its lists leave out: the `hide` options of the person, as last read. */
  readonly hidden: Readonly<Record<string, readonly string[]>>;
  /** Ranges that were chosen by their ends, the latest first. */
  readonly ranges: readonly Range[];
  /** The log that was open last. */
  readonly log: string;
};

export type PreferenceStore = {
  readonly now: Signal<Preferences>;
  readonly change: (changes: Partial<Preferences>) => void;
};

/** The zone of times that a person chose, by name, or that of the browser. */
export function zoneOf({ zone }: Preferences): string {
  return zone || ownZone();
}

const KEY = "loggia.preferences";
const STANDARD: Preferences = {
  theme: "system",
  zone: "",
  singleKeys: true,
  columns: {},
  hidden: {},
  ranges: [],
  log: "",
};

/** Reads them once and follows other tabs; storage that is full or forbidden keeps them for this visit. */
export function createPreferences(storage: Storage | null): PreferenceStore {
  const now = signal(readPreferences(storage));
  return {
    now,
    change(changes) {
      now.value = { ...now.value, ...changes };
      try {
        storage?.setItem(KEY, JSON.stringify(now.value));
      } catch {
        // They hold for this visit.
      }
    },
  };
}

function readPreferences(storage: Storage | null): Preferences {
  try {
    const stored: unknown = JSON.parse(storage?.getItem(KEY) ?? "{}");
    return typeof stored === "object" && stored !== null ? { ...STANDARD, ...pickKnown(stored) } : STANDARD;
  } catch {
    return STANDARD;
  }
}

/** Of what was stored, the known keys whose values are of the kind of the standard ones. */
function pickKnown(stored: object): Partial<Preferences> {
  const entries = Object.entries(stored).filter(
    ([name, value]) => Object.hasOwn(STANDARD, name) && typeof value === typeof STANDARD[name as keyof Preferences],
  );
  return Object.fromEntries(entries) as Partial<Preferences>;
}
