import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { App } from "../app.ts";
import type { Ahead } from "../search/ahead.ts";
import { SearchScreen } from "../search/search-screen.tsx";
import { lazy } from "./lazy.tsx";

type LogScreenProperties = { readonly app: App; readonly log: string };

const ClassesScreen = lazy<LogScreenProperties>(
  async () => (await import("../classes/classes-screen.tsx")).ClassesScreen,
);
const FirstRunScreen = lazy(async () => (await import("../first-run/first-run-screen.tsx")).FirstRunScreen);
const InboxScreen = lazy(async () => (await import("../inbox/inbox-screen.tsx")).InboxScreen);
const BookmarksScreen = lazy(async () => (await import("../bookmarks/bookmarks-screen.tsx")).BookmarksScreen);
const SettingsScreen = lazy(async () => (await import("../settings/settings-screen.tsx")).SettingsScreen);

/** The screen that the address names. Those that are seldom used are loaded when they are. */
export function ScreenView({ app, ahead }: { app: App; ahead: Ahead }): JSX.Element {
  const { screen, log } = app.location.place.value;
  const logs = app.logs.value ?? [];
  const isKnown = logs.some(({ key }) => key === log);
  const isSearch = (screen === "search" || screen === "context") && isKnown;
  useEffect(() => {
    if (isSearch) return;
    app.isSettled.value = true;
    ahead.drop();
  }, [isSearch]);
  if (screen === "home" && logs.length === 0)
    return (
      <Nothing title="No logs yet">
        <a href={app.location.link({ screen: "account", log: "", part: "logs" })}>Make a log</a>, or ask the admin of
        one to share it with you.
      </Nothing>
    );
  if (log !== "" && !isKnown)
    return (
      <Nothing title={`There is no log “${log}”, or it is not shared with you`}>
        {logs[0] !== undefined && (
          <a href={app.location.link({ screen: "search", log: logs[0].key })}>Open {logs[0].key}</a>
        )}
      </Nothing>
    );
  if (screen === "settings" || screen === "account") return <SettingsScreen app={app} />;
  if (screen === "inbox") return <InboxScreen app={app} />;
  if (screen === "bookmarks") return <BookmarksScreen app={app} />;
  if (screen === "classes") return <ClassesScreen key={log} app={app} log={log} />;
  if (screen === "first-run") return <FirstRunScreen key={log} app={app} log={log} />;
  // A log's screen starts anew for another log.
  return <SearchScreen key={log} app={app} log={log} ahead={ahead} />;
}

function Nothing({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <main id="main" tabIndex={-1} class="blank">
      <h1>{title}</h1>
      <p>{children}</p>
    </main>
  );
}
