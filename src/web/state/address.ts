/** The screens of a log, and those across logs. */
export type Screen =
  "search" | "context" | "classes" | "settings" | "first-run" | "account" | "inbox" | "bookmarks" | "home";

/** A place of the page, as its address names it. */
export type PageAddress = {
  readonly screen: Screen;
  /** "" for screens across logs. */
  readonly log: string;
  /** Event id of a context, key of a class, or part of the settings. */
  readonly part: string;
  /** Unknown keys are kept. */
  readonly parameters: ReadonlyMap<string, string>;
};

/** Parts of the account screen that concern the whole service; the others are the reader's own. */
export const SERVICE_PARTS = ["accounts", "logs", "health", "dead-letters", "backup"] as const;

/** Screens across logs by the first word of their address. */
const ACROSS: Readonly<Record<string, Screen>> = {
  inbox: "inbox",
  bookmarks: "bookmarks",
  you: "account",
  service: "account",
};
/** Precedes a log key that equals the first word of a screen. No key begins with `~`. */
const LOG_MARK = "~log";
/** Screens of a log by the word after its key. */
const OF_LOG: Readonly<Record<string, Screen>> = { classes: "classes", settings: "settings", start: "first-run" };
/** Parameter with the event of a context. The query stays beside it for going back. */
const AROUND = "around";

/** Parses an address's fragment, `#/shop?q=…&t=24h`. */
export function parsePlace(hash: string): PageAddress {
  const [path = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const parameters = new Map(new URLSearchParams(rest.join("?")));
  const words = path.split("/").map(decode);
  const [first = "", part = ""] = words;
  if (first === "") return { screen: "home", log: "", part: "", parameters };
  if (Object.hasOwn(ACROSS, first)) return { screen: ACROSS[first]!, log: "", part, parameters };
  const [log = "", second = "", ...parts] = first === LOG_MARK ? words.slice(1) : words;
  const around = parameters.get(AROUND);
  if (around !== undefined && second === "") {
    parameters.delete(AROUND);
    return { screen: "context", log, part: around, parameters };
  }
  const screen = Object.hasOwn(OF_LOG, second) ? OF_LOG[second]! : "search";
  return { screen, log, part: parts.join("/"), parameters };
}

export function formatPlace({ screen, log, part, parameters }: PageAddress): string {
  const isContext = screen === "context";
  const words = [...pathOf(screen, log, part), ...(part === "" || isContext ? [] : part.split("/"))];
  const all = isContext ? [...parameters, [AROUND, part] as [string, string]] : [...parameters];
  // These characters need no escape in a fragment, and zones and columns contain many of them.
  const query = new URLSearchParams(all).toString().replace(/%(?:2F|40|2C|3A)/g, decodeURIComponent);
  return `#/${words.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

function pathOf(screen: Screen, log: string, part: string): string[] {
  if (screen === "home") return [];
  if (screen === "account") return [SERVICE_PARTS.some((each) => each === part) ? "service" : "you"];
  if (screen === "inbox" || screen === "bookmarks") return [screen];
  const key = Object.hasOwn(ACROSS, log) ? [LOG_MARK, log] : [log];
  const word = Object.keys(OF_LOG).find((each) => OF_LOG[each] === screen);
  return word === undefined ? key : [...key, word];
}

function decode(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
