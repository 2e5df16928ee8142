import { signal } from "@preact/signals";
import type { Signal } from "@preact/signals";

import { createClient } from "../parts/api/client.ts";
import type { Client } from "../parts/api/client.ts";
import type { LogRecord } from "../parts/api/types.ts";
import { createClassRegistry } from "./class-registry.ts";
import type { ClassRegistry } from "./class-registry.ts";
import { createShortcuts } from "../parts/keys/registry.ts";
import type { Shortcuts } from "../parts/keys/registry.ts";
import type { ListMemory } from "../parts/list/list-view.ts";
import { createToaster } from "../parts/controls/toast.tsx";
import type { Toaster } from "../parts/controls/toast.tsx";
import { createAlertState } from "./alerts.ts";
import type { AlertState } from "./alerts.ts";
import { createLocation } from "./location.ts";
import type { Location } from "./location.ts";
import { createPreferences } from "./preferences.ts";
import type { PreferenceStore } from "./preferences.ts";
import { createSession } from "./session.ts";
import type { Session } from "./session.ts";

/** Context passed to every screen; created once, in `main.tsx`. */
export type App = {
  readonly client: Client;
  readonly session: Session;
  readonly location: Location;
  readonly preferences: PreferenceStore;
  readonly shortcuts: Shortcuts;
  readonly toaster: Toaster;
  /** The logs that the account may read; null until known. */
  readonly logs: Signal<readonly LogRecord[] | null>;
  readonly classes: ClassRegistry;
  readonly alerts: AlertState;
  /** Increases when the service has stored a change of the reader's bookmarks. */
  readonly bookmarkChanges: Signal<number>;
  /** Scroll positions of searches, restored when going back. */
  readonly places: Map<string, ListMemory>;
  /** Whether the page shows what it was opened for; less urgent work waits for it. */
  readonly isSettled: Signal<boolean>;
  /** The page's title, without the number of unread alerts. */
  readonly title: Signal<string>;
};

export function createApp(window: Window): App {
  const session: Session = createSession(() => client);
  const client: Client = createClient({ onSignedOut: (sent_ms) => session.end(sent_ms) });
  const preferences = createPreferences(storageOf(window));
  return {
    client,
    session,
    location: createLocation(window),
    preferences,
    shortcuts: createShortcuts(() => preferences.now.peek().singleKeys),
    toaster: createToaster(),
    logs: signal<readonly LogRecord[] | null>(null),
    classes: createClassRegistry(() => client),
    alerts: createAlertState(),
    bookmarkChanges: signal(0),
    places: new Map<string, ListMemory>(),
    isSettled: signal(false),
    title: signal("Loggia"),
  };
}

/** Returns the local storage; null if the browser forbids it. */
function storageOf(window: Window): Storage | null {
  try {
    return window.localStorage;
  } catch {
    return null;
  }
}
