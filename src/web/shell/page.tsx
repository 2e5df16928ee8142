import { effect, useComputed } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { App } from "../state/app.ts";
import { Progress } from "../parts/controls/progress.tsx";
import { ToastArea } from "../parts/controls/toast.tsx";
import type { SessionUnavailableProperties } from "./session-unavailable.tsx";
import { actWith } from "../parts/controls/act-with.ts";
import { ScreenView } from "./screens.tsx";
import { lazy } from "../parts/controls/lazy.tsx";
import type { InitialLoad } from "./initial-load.ts";
import { TopBar } from "./top-bar.tsx";

const SessionUnavailable = lazy<SessionUnavailableProperties>(
  async () => (await import("./session-unavailable.tsx")).SessionUnavailable,
  "screen",
);
const SignIn = lazy(async () => (await import("../screens/sign-in/sign-in.tsx")).SignIn, "screen");
const SignInAgain = lazy(async () => (await import("../screens/sign-in/sign-in.tsx")).SignInAgain);

/** The whole page: the sign-in, or the top bar with the screen that the address names. */
export function Page({ app, initialLoad }: { app: App; initialLoad: InitialLoad }): JSX.Element {
  useShortcuts(app);
  useTheme(app);
  useClassColors(app);
  useWatching(app);
  const state = app.session.state.value;
  useEffect(() => {
    if (state === "in" && app.logs.peek() === null) initialLoad.readLogs();
    if (state !== "out") return;
    // Another account may sign in next.
    app.logs.value = null;
    initialLoad.prefetch.drop();
  }, [state]);
  const fault = initialLoad.fault.value;
  if (fault !== null)
    return <SessionUnavailable fault={fault} isOpening={initialLoad.isOpening.value} retry={initialLoad.begin} />;
  if (state === "out") return <SignIn app={app} />;
  if (state === "unknown" || app.logs.value === null) return <Progress />;
  return (
    <>
      <TopBar app={app} />
      <ScreenView app={app} prefetch={initialLoad.prefetch} />
      <ToastArea toaster={app.toaster} />
      {state === "ended" && <SignInAgain app={app} />}
    </>
  );
}

function useShortcuts({ shortcuts }: App): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && shortcuts.press(event)) event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Sets `data-theme` on the root; without it the system's scheme applies. */
function useTheme({ preferences }: App): void {
  const { theme } = preferences.now.value;
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
}

/** Polls the number of unread alerts, shown in every title, and follows new classes. */
function useWatching(app: App): void {
  const { alerts, session, title } = app;
  const isIn = session.state.value === "in" && app.logs.value !== null && app.isSettled.value;
  useEffect(
    () =>
      effect(() => {
        const count = alerts.unseen.value;
        document.title = count === 0 ? title.value : `(${count}) ${title.value}`;
      }),
    [],
  );
  useEffect(() => {
    if (!isIn) return undefined;
    let isOver = false;
    let stop = () => {};
    const watching = Promise.all([
      import("../screens/inbox/watch-unseen.ts"),
      import("../features/classes/watch-classes.ts"),
    ]);
    actWith(app, "Unread alerts are not counted", watching, ([{ watchUnseen }, { watchClasses }]) => {
      if (isOver) return;
      const stops = [watchUnseen(app), watchClasses(app)];
      stop = () => stops.forEach((each) => each());
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [isIn]);
}

function useClassColors(app: App): void {
  const { isSettled } = app;
  const open = useComputed(() => app.location.place.value.log);
  useEffect(() => {
    if (!isSettled.value) return;
    // Until then, classes have the neutral colour.
    actWith(app, "Classes have no colours", import("../features/classes/paint.ts"), ({ paintClasses }) =>
      paintClasses(document, app.classes, open),
    );
  }, [isSettled.value]);
}
