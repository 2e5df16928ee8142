import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import type { App } from "../state/app.ts";
import { shortcut } from "../parts/keys/table.ts";
import { Arches, Icon } from "../parts/controls/icons.tsx";
import { MenuButton } from "../parts/controls/menu.tsx";
import type { MenuItem, MenuItems } from "../parts/controls/menu.tsx";
import { RANGE_PARAMETERS } from "../parts/query/range-address.ts";
import type { PageAddress, Screen } from "../state/address.ts";
import { actWith } from "../parts/controls/act-with.ts";
import { lastLog } from "../state/last-log.ts";
import { lazy } from "../parts/controls/lazy.tsx";

const ShortcutsDialog = lazy(async () => (await import("../features/keys/dialog.tsx")).ShortcutsDialog);

type Entry = {
  readonly screen: Screen;
  readonly label: string;
  readonly key: Parameters<typeof shortcut<"everywhere">>[1];
};

const ENTRIES: readonly Entry[] = [
  { screen: "search", label: "Search", key: "search" },
  { screen: "inbox", label: "Inbox", key: "inbox" },
  { screen: "bookmarks", label: "Bookmarks", key: "bookmarks" },
  { screen: "classes", label: "Classes", key: "classes" },
  { screen: "settings", label: "Settings", key: "settings" },
];

/** Screens without an entry, by the entry that is highlighted for them. */
const UNDER: Partial<Record<Screen, Screen>> = { context: "search", account: "settings", "first-run": "settings" };

/** The bar at the top of each screen: log, screens, shortcuts and account. */
export function TopBar({ app }: { app: App }): JSX.Element {
  const isHelpOpen = useSignal(false);
  const { screen } = app.location.place.value;
  const openHelp = () => (isHelpOpen.value = true);
  useLayoutEffect(
    () =>
      app.shortcuts.bind([
        shortcut("everywhere", "help", openHelp),
        shortcut("everywhere", "nextBookmark", () => stepTo(app, 1)),
        shortcut("everywhere", "previousBookmark", () => stepTo(app, -1)),
        ...ENTRIES.map(({ screen, key }) => shortcut("everywhere", key, () => app.location.go(placeOf(app, screen)))),
      ]),
    [],
  );
  return (
    <header class="top">
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to {screen === "search" ? "the events" : "the content"}
      </a>
      <a class="home" href={app.location.link(placeOf(app, "search"))} aria-label="Loggia, home">
        <Arches />
      </a>
      <LogPicker app={app} />
      <nav class="nav" aria-label="Main">
        {ENTRIES.map((entry) => (
          <a
            href={app.location.link(placeOf(app, entry.screen))}
            aria-current={entry.screen === (UNDER[screen] ?? screen) ? "page" : undefined}
          >
            {entry.label}
            {entry.screen === "inbox" && <Unseen app={app} />}
          </a>
        ))}
      </nav>
      <span class="space" />
      <button class="quiet hide-small" type="button" onClick={openHelp}>
        Shortcuts <kbd>?</kbd>
      </button>
      <AccountMenu app={app} />
      <SmallMenu app={app} openHelp={openHelp} />
      {isHelpOpen.value && <ShortcutsDialog app={app} onClose={() => (isHelpOpen.value = false)} />}
    </header>
  );
}

function Unseen({ app }: { app: App }): JSX.Element | null {
  const count = app.alerts.unseen.value;
  return count === 0 ? null : <span class="badge">{count > 999 ? "999+" : count}</span>;
}

/** Returns where an entry leads: to the open log, or the last opened one. */
function placeOf(app: App, screen: Screen): Partial<PageAddress> {
  const { log } = app.location.place.value;
  if (screen === "inbox" || screen === "bookmarks") return { screen, log: "" };
  return { screen, log: log === "" ? lastLog(app) : log };
}

function stepTo(app: App, step: 1 | -1): void {
  actWith(
    app,
    "Bookmarks could not be read",
    import("../features/marked-events/step-bookmark.ts"),
    ({ goToBookmark }) => goToBookmark(app, step),
  );
}

/** Moves the focus itself, since the address's fragment holds the page's state. */
function skipToMain(event: Event): void {
  event.preventDefault();
  (document.getElementById("list") ?? document.getElementById("main"))?.focus();
}

function LogPicker({ app }: { app: App }): JSX.Element {
  const { log } = app.location.place.value;
  const items = (app.logs.value ?? []).map(({ key }) => ({
    label: key,
    checked: key === log,
    act: () => app.location.go({ screen: "search", log: key, part: "", parameters: keptParameters(app) }),
  }));
  return (
    <MenuButton
      class="log"
      label={log === "" ? "All logs: choose one" : `Log: ${log}`}
      items={[items]}
      menuClass="under"
    >
      {log === "" ? "All logs" : log} <Icon name="down" />
    </MenuButton>
  );
}

/** What a reader keeps when choosing another log: the query, its range and how it is edited. */
const KEPT: ReadonlySet<string> = new Set(["q", ...RANGE_PARAMETERS, "tz", "order", "m"]);

function keptParameters({ location }: App): ReadonlyMap<string, string> {
  const { screen, parameters } = location.place.peek();
  const isOfSearch = screen === "search" || screen === "context";
  return new Map([...parameters].filter(([name]) => isOfSearch && KEPT.has(name)));
}

function AccountMenu({ app }: { app: App }): JSX.Element {
  const email = app.session.account.value?.email ?? "";
  const initials = initialsOfEmail(email);
  return (
    <MenuButton
      class="who hide-small"
      label={`${initials}, account ${email}`}
      items={accountItems(app)}
      menuClass="under end"
    >
      {initials}
    </MenuButton>
  );
}

function SmallMenu({ app, openHelp }: { app: App; openHelp: () => void }): JSX.Element {
  const screens = ENTRIES.map(({ screen, label }): MenuItem => ({
    label,
    act: () => app.location.go(placeOf(app, screen)),
  }));
  return (
    <MenuButton
      class="quiet icon only-small"
      label="Menu"
      items={[screens, [{ label: "Shortcuts", act: openHelp }], ...accountItems(app)]}
      menuClass="under end"
    >
      <Icon name="menu" />
    </MenuButton>
  );
}

function accountItems(app: App): MenuItems {
  const { theme } = app.preferences.now.value;
  const themes = { system: "Theme of the system", light: "Light", dark: "Dark" } as const;
  return [
    [{ label: "Account and sessions", act: () => app.location.go({ screen: "account", log: "" }) }],
    Object.entries(themes).map(([name, label]) => ({
      label,
      checked: theme === name,
      act: () => app.preferences.change({ theme: name as typeof theme }),
    })),
    [{ label: "Sign out", act: () => actWith(app, "You are still signed in", app.session.signOut()) }],
  ];
}

/** Returns initials: MK for `m.keller@shop.example`. */
export function initialsOfEmail(email: string): string {
  const [name = ""] = email.split("@", 1);
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return words
    .slice(0, 2)
    .map((word) => [...word][0])
    .join("")
    .toUpperCase();
}
