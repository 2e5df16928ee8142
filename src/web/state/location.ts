import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { formatPlace, parsePlace } from "./address.ts";
import type { Place } from "./address.ts";

/**
 * Where the page is. The address holds all of its state, in the fragment, so that no proxy's log
 * holds queries.
 */
export type Location = {
  readonly place: ReadonlySignal<Place>;
  /** Whether back or forward led to this place. */
  readonly isReturn: () => boolean;
  /** A step that a person took: back returns from it. */
  readonly go: (place: Partial<Place>) => void;
  /** The address of the same step made exact: back leaves it out. */
  readonly amend: (place: Partial<Place>) => void;
  /** Sets parameters of the address of the same step, or removes those that are null. */
  readonly note: (parameters: Readonly<Record<string, string | null>>) => void;
  /** The address of a place, for a link. */
  readonly link: (place: Partial<Place>) => string;
};

type Step = (data: null, unused: "", address: string) => void;

/** What of `window` the location uses. */
export type Frame = {
  readonly location: { readonly hash: string };
  readonly history: Readonly<Record<"pushState" | "replaceState", Step>>;
  readonly addEventListener: (name: "popstate" | "hashchange", listener: () => void) => void;
};

export function createLocation(frame: Frame): Location {
  const place = signal(parsePlace(frame.location.hash));
  let isReturn = false;
  const follow = () => {
    isReturn = true;
    if (frame.location.hash !== formatPlace(place.peek())) place.value = parsePlace(frame.location.hash);
  };
  frame.addEventListener("popstate", follow);
  frame.addEventListener("hashchange", follow);
  const complete = (changes: Partial<Place>): Place => ({ ...emptyFor(changes, place.peek()), ...changes });
  const move = (changes: Partial<Place>, how: "pushState" | "replaceState") => {
    const next = complete(changes);
    isReturn = false;
    if (formatPlace(next) !== formatPlace(place.peek())) frame.history[how](null, "", formatPlace(next));
    place.value = next;
  };
  return {
    place,
    isReturn: () => isReturn,
    go: (changes) => move(changes, "pushState"),
    amend: (changes) => move(changes, "replaceState"),
    note: (changes) => move({ parameters: changed(place.peek().parameters, changes) }, "replaceState"),
    link: (changes) => formatPlace(complete(changes)),
  };
}

/** Another screen or log starts without the part and parameters of the present one. */
function emptyFor(changes: Partial<Place>, present: Place): Place {
  const { screen = present.screen, log = present.log } = changes;
  return screen === present.screen && log === present.log ? present : { screen, log, part: "", parameters: new Map() };
}

/** Parameters with some of them set, and those that are null removed. */
export function changed(
  parameters: Place["parameters"],
  changes: Readonly<Record<string, string | null>>,
): ReadonlyMap<string, string> {
  const next = new Map(parameters);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return next;
}
