import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { formatPlace, parsePlace } from "./address.ts";
import type { PageAddress } from "./address.ts";

/**
 * The page's location. The fragment of the address holds all of its state, so that queries do not
 * reach a proxy's log.
 */
export type Location = {
  readonly place: ReadonlySignal<PageAddress>;
  /** Whether the last move was back or forward in the history. */
  readonly isReturn: () => boolean;
  /** Goes to a place and adds a history entry. */
  readonly go: (place: Partial<PageAddress>) => void;
  /**
   * Goes to a place and replaces the history entry. Does nothing if another address was opened
   * meanwhile.
   */
  readonly amend: (place: Partial<PageAddress>) => void;
  /** Sets parameters in the current history entry; null removes one. Otherwise as `amend`. */
  readonly note: (parameters: Readonly<Record<string, string | null>>) => void;
  /** Returns the address of a place, for a link. */
  readonly link: (place: Partial<PageAddress>) => string;
};

type Step = (data: null, unused: "", address: string) => void;

/** The part of `window` that the location uses. */
export type AddressedWindow = {
  readonly location: { readonly hash: string };
  readonly history: Readonly<Record<"pushState" | "replaceState", Step>>;
  readonly addEventListener: (name: "popstate" | "hashchange", listener: () => void) => void;
};

export function createLocation(frame: AddressedWindow): Location {
  const place = signal(parsePlace(frame.location.hash));
  let isReturn = false;
  let lastHash = frame.location.hash;
  const follow = () => {
    isReturn = true;
    lastHash = frame.location.hash;
    if (frame.location.hash !== formatPlace(place.peek())) place.value = parsePlace(frame.location.hash);
  };
  frame.addEventListener("popstate", follow);
  frame.addEventListener("hashchange", follow);
  const complete = (changes: Partial<PageAddress>): PageAddress => ({ ...emptyFor(changes, place.peek()), ...changes });
  const move = (changes: Partial<PageAddress>, how: "pushState" | "replaceState") => {
    // Events of the browser are late, so `place` may be behind the address.
    if (how === "replaceState" && frame.location.hash !== lastHash) return follow();
    const next = complete(changes);
    isReturn = false;
    if (formatPlace(next) !== formatPlace(place.peek())) frame.history[how](null, "", formatPlace(next));
    lastHash = frame.location.hash;
    place.value = next;
  };
  return {
    place,
    isReturn: () => isReturn,
    go: (changes) => move(changes, "pushState"),
    amend: (changes) => move(changes, "replaceState"),
    note: (changes) => move({ parameters: changedParameters(place.peek().parameters, changes) }, "replaceState"),
    link: (changes) => formatPlace(complete(changes)),
  };
}

/** Clears part and parameters when the screen or the log changes. */
function emptyFor(changes: Partial<PageAddress>, present: PageAddress): PageAddress {
  const { screen = present.screen, log = present.log } = changes;
  return screen === present.screen && log === present.log ? present : { screen, log, part: "", parameters: new Map() };
}

/** Returns the parameters with some of them set, and those that are null removed. */
export function changedParameters(
  parameters: PageAddress["parameters"],
  changes: Readonly<Record<string, string | null>>,
): ReadonlyMap<string, string> {
  const next = new Map(parameters);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) next.delete(name);
    else next.set(name, value);
  }
  return next;
}
