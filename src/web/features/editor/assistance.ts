import type { ReadonlySignal, Signal } from "@preact/signals";
import type { ComponentType } from "preact";

import type { App } from "../../state/app.ts";
import type { Search } from "../../state/search.ts";
import type { DescribedFault } from "./check.ts";

/** What the query field passes to its assistant. */
export type AssistantProperties = {
  readonly app: App;
  readonly search: Search;
  readonly field: HTMLTextAreaElement;
  readonly fault: ReadonlySignal<DescribedFault | null>;
  /** Id of the completion chosen with the arrow keys. */
  readonly active: Signal<string | null>;
  /** Prefix of ids: `<id>-options`, `<id>-fault`. */
  readonly id: string;
};

/** Code that is loaded when the field is used. */
export type Assistance = {
  readonly Assistant: ComponentType<AssistantProperties>;
  readonly checkQuery: (text: string) => DescribedFault | null;
};
