import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { App } from "../state/app.ts";
import type { SearchPrefetch } from "../screens/search/prefetch.ts";
import { SearchScreen } from "../screens/search/search-screen.tsx";
import { lazy } from "../parts/controls/lazy.tsx";
import type { NoLogProperties } from "./no-log.tsx";

type LogScreenProperties = { readonly app: App; readonly log: string };

const ClassesScreen = lazy<LogScreenProperties>(
  async () => (await import("../screens/classes/classes-screen.tsx")).ClassesScreen,
  "screen",
);
const FirstRunScreen = lazy(
  async () => (await import("../screens/first-run/first-run-screen.tsx")).FirstRunScreen,
  "screen",
);
const NoLog = lazy<NoLogProperties>(async () => (await import("./no-log.tsx")).NoLog, "screen");
const InboxScreen = lazy(async () => (await import("../screens/inbox/inbox-screen.tsx")).InboxScreen, "screen");
const BookmarksScreen = lazy(
  async () => (await import("../screens/bookmarks/bookmarks-screen.tsx")).BookmarksScreen,
  "screen",
);
const SettingsScreen = lazy(
  async () => (await import("../screens/settings/settings-screen.tsx")).SettingsScreen,
  "screen",
);

/** Shows the screen that the address names. Rarely used ones are loaded on demand. */
export function ScreenView({ app, prefetch }: { app: App; prefetch: SearchPrefetch }): JSX.Element {
  const { screen, log } = app.location.place.value;
  const logs = app.logs.value ?? [];
  const isKnown = logs.some(({ key }) => key === log);
  const isSearch = (screen === "search" || screen === "context") && isKnown;
  useEffect(() => {
    if (isSearch) return;
    app.isSettled.value = true;
    prefetch.drop();
  }, [isSearch]);
  const mayKeep = isKnown && app.isSettled.value;
  useEffect(() => {
    if (mayKeep && app.preferences.now.peek().log !== log) app.preferences.change({ log });
  }, [mayKeep, log]);
  if (log === "" ? screen === "home" && logs.length === 0 : !isKnown) return <NoLog app={app} log={log} />;
  if (screen === "settings" || screen === "account") return <SettingsScreen app={app} />;
  if (screen === "inbox") return <InboxScreen app={app} />;
  if (screen === "bookmarks") return <BookmarksScreen app={app} />;
  if (screen === "classes") return <ClassesScreen key={log} app={app} log={log} />;
  if (screen === "first-run") return <FirstRunScreen key={log} app={app} log={log} />;
  // A log's screen is recreated for another log.
  return <SearchScreen key={log} app={app} log={log} prefetch={prefetch} />;
}
