import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

/** The screens of a log, and those across logs. */
export type Screen =
  "search" | "context" | "classes" | "settings" | "first-run" | "account" | "inbox" | "bookmarks" | "home";

/**
 * Where the page is. The address holds it whole: `#/<log>?q=…` is a search, `#/<log>/context/<id>`,
 * `#/~account` and so on. It is a fragment, so that no proxy's log holds queries.
 */
export type Place = {
  readonly screen: Screen;
  /** "" for screens across logs. */
  readonly log: string;
  /** What follows the screen in the path: an event's id, a class's key, a part of the settings. */
  readonly part: string;
  /** Keys that no screen knows are kept. */
  readonly parameters: ReadonlyMap<string, string>;
};

export type Location = {
  readonly place: ReadonlySignal<Place>;
  /** Whether back or forward led to this place. */
  readonly isReturn: () => boolean;
  /** A step that a person took: back returns from it. */
  readonly go: (place: Partial<Place>) => void;
  /** The address of the same step made exact: back leaves it out. */
  readonly amend: (place: Partial<Place>) => void;
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

const OF_LOGS: readonly Screen[] = ["context", "classes", "settings", "first-run"];
/** Across logs. No log's address is mistaken for one: they begin with a `~`, which no key does. */
const ACROSS: readonly Screen[] = ["account", "inbox", "bookmarks"];

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
    link: (changes) => formatPlace(complete(changes)),
  };
}

/** Another screen or log starts without the part and parameters of the present one. */
function emptyFor(changes: Partial<Place>, present: Place): Place {
  const { screen = present.screen, log = present.log } = changes;
  return screen === present.screen && log === present.log ? present : { screen, log, part: "", parameters: new Map() };
}

export function parsePlace(hash: string): Place {
  const [path = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const parameters = new Map(new URLSearchParams(rest.join("?")));
  const [first = "", second = "", ...parts] = path.split("/").map(decode);
  const across = ACROSS.find((screen) => first === `~${screen}`);
  if (across !== undefined) return { screen: across, log: "", part: second, parameters };
  if (first === "") return { screen: "home", log: "", part: "", parameters };
  const ofLog = OF_LOGS.find((screen) => second === screen);
  return { screen: ofLog ?? "search", log: first, part: parts.join("/"), parameters };
}

export function formatPlace({ screen, log, part, parameters }: Place): string {
  const words = pathOf(screen, log);
  if (part !== "") words.push(...part.split("/"));
  const query = new URLSearchParams([...parameters]).toString();
  return `#/${words.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

function pathOf(screen: Screen, log: string): string[] {
  if (screen === "home") return [];
  if (ACROSS.includes(screen)) return [`~${screen}`];
  return screen === "search" ? [log] : [log, screen];
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
