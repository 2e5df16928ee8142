import { effect, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { ApiFault } from "../api/client.ts";
import type { LogRecord } from "../api/types.ts";
import type { App } from "../app.ts";
import { ToastArea } from "../parts/toast.tsx";
import { Away } from "./away.tsx";
import { ScreenView } from "./screens.tsx";
import { lazy } from "./lazy.tsx";
import { TopBar } from "./top-bar.tsx";

const SignIn = lazy(async () => (await import("../sign-in/sign-in.tsx")).SignIn);
const SignInAgain = lazy(async () => (await import("../sign-in/sign-in.tsx")).SignInAgain);

/** The whole page: the sign-in, or the bar at its top with the screen that the address names. */
export function Page({ app }: { app: App }): JSX.Element {
  const fault = useSignal<unknown>(null);
  const open = () => {
    fault.value = null;
    openPage(app).catch((error: unknown) => (fault.value = error));
  };
  useEffect(open, []);
  useShortcuts(app);
  useTheme(app);
  useClassColors(app);
  useAlerts(app);
  const state = app.session.state.value;
  useEffect(() => {
    if (state === "in" && app.logs.peek() === null) {
      readLogs(app).catch((error: unknown) => (fault.value = error));
      // Without them classes are shown by their keys, in the neutral colour.
      app.classes.read().catch(() => undefined);
    }
    // Another account may follow.
    if (state === "out") app.logs.value = null;
  }, [state]);
  if (fault.value !== null) return <Away fault={fault.value} retry={open} />;
  if (state === "unknown") return <div class="progress" role="progressbar" aria-label="Loading" />;
  if (state === "out") return <SignIn app={app} />;
  if (app.logs.value === null) return <div class="progress" role="progressbar" aria-label="Loading" />;
  return (
    <>
      <TopBar app={app} />
      <ScreenView app={app} />
      <ToastArea toaster={app.toaster} />
      {state === "ended" && <SignInAgain app={app} />}
    </>
  );
}

/** Signs in by the ticket of the address, which leaves it, or finds the session that is there. */
async function openPage({ session, location }: App): Promise<void> {
  const { parameters, ...place } = location.place.peek();
  const ticket = parameters.get("ticket");
  if (ticket === undefined) return session.open();
  location.amend({ ...place, parameters: new Map([...parameters].filter(([name]) => name !== "ticket")) });
  try {
    await session.signIn({ ticket });
  } catch (error) {
    // A ticket serves once and not for long; the person may be signed in all the same.
    if (!(error instanceof ApiFault) || error.status === 0) throw error;
    await session.open();
  }
}

/** Without a log in the address, the one that was open last is shown, or else the first. */
async function readLogs({ client, logs, location, preferences }: App): Promise<void> {
  const { body } = await client.ask<readonly LogRecord[]>("/1/logs");
  const { log: last } = preferences.now.peek();
  const start = body.find(({ key }) => key === last) ?? body[0];
  if (location.place.peek().screen === "home" && start !== undefined)
    location.amend({ screen: "search", log: start.key });
  logs.value = body;
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

/** `data-theme` on the root chooses a scheme; without it the system does. */
function useTheme({ preferences }: App): void {
  const { theme } = preferences.now.value;
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
}

/** Counts the unread alerts; the number stands in the title of every screen. */
function useAlerts(app: App): void {
  const { alerts, session, title } = app;
  const isIn = session.state.value === "in" && app.logs.value !== null;
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
    void import("../inbox/watch-unseen.ts").then(({ watchUnseen }) => isOver || (stop = watchUnseen(app)));
    return () => {
      isOver = true;
      stop();
    };
  }, [isIn]);
}

function useClassColors({ classes, location }: App): void {
  const open = useComputed(() => location.place.value.log);
  useEffect(() => {
    // Until they are there, classes have the neutral colour.
    void import("../classes/paint.ts").then(({ paintClasses }) => paintClasses(document, classes, open));
  }, []);
}
