import type { ReadonlySignal } from "@preact/signals";
import type { JSX } from "preact";

import type { Hold } from "./control.ts";
import type { Follow } from "./list-view.ts";

/** What a live tail adds to a list. */
export type Following = {
  readonly follow: ReadonlySignal<Follow>;
  readonly hold: (reason: Hold) => void;
  /** Called when the pointer that held the list is released. */
  readonly release: () => void;
  readonly gaps: ReadonlySignal<ReadonlyMap<string, () => JSX.Element>>;
};
