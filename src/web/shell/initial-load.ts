import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { ApiFault, faultMessage } from "../parts/api/client.ts";
import type { LogRecord } from "../parts/api/types.ts";
import type { App } from "../state/app.ts";
import { SearchPrefetch } from "../screens/search/prefetch.ts";

/** Data that the page reads before it draws a screen. */
export type InitialLoad = {
  /** The error that kept the page from opening; shown until a retry succeeds. */
  readonly fault: ReadonlySignal<unknown>;
  readonly isOpening: ReadonlySignal<boolean>;
  /** The search of the address, begun before its screen exists. */
  readonly prefetch: SearchPrefetch;
  /** Requests the session, the logs and the address's search, all at once. */
  readonly begin: () => void;
  /** Reads the logs and classes of the account that has signed in, unless already running. */
  readonly readLogs: () => void;
};

export function createInitialLoad(app: App): InitialLoad {
  const fault = signal<unknown>(null);
  const isOpening = signal(false);
  const prefetch = new SearchPrefetch();
  let reading: Promise<void> | null = null;
  const readLogs = (): Promise<void> =>
    (reading ??= readAll(app)
      .catch((error: unknown) => {
        if (!isOfStranger(app, error)) throw error;
      })
      .finally(() => (reading = null)));
  const attempt = (work: Promise<unknown>): void => {
    isOpening.value = true;
    work
      .then(
        () => (fault.value = null),
        (error: unknown) => (fault.value = error),
      )
      .finally(() => (isOpening.value = false));
  };
  return {
    fault,
    isOpening,
    prefetch,
    readLogs: () => attempt(readLogs()),
    begin() {
      const ticket = app.location.place.peek().parameters.get("ticket");
      if (ticket !== undefined) {
        attempt(import("../screens/sign-in/by-ticket.ts").then(({ signInByTicket }) => signInByTicket(app, ticket)));
        return;
      }
      const session = app.session.open();
      prefetch.begin(app);
      attempt(Promise.all([session, readLogs()]));
    },
  };
}

/** Reports whether the logs were refused for lack of a session, which that request reports too. */
function isOfStranger({ session }: App, error: unknown): boolean {
  const state = session.state.peek();
  return error instanceof ApiFault && error.status === 401 && (state === "unknown" || state === "out");
}

/** Reads logs and classes. Without a log in the address, opens the last one, else the first. */
async function readAll(app: App): Promise<void> {
  const { classes, client, logs, location, preferences, toaster } = app;
  const found = client.request<readonly LogRecord[]>("/manage/1/logs");
  classes.read().catch((error: unknown) => {
    if (isOfStranger(app, error)) return;
    toaster.show(`Classes are shown by their keys, without colours: ${faultMessage(error)}`);
  });
  const { body } = await found;
  const { log: last } = preferences.now.peek();
  const start = body.find(({ key }) => key === last) ?? body[0];
  if (location.place.peek().screen === "home" && start !== undefined)
    location.amend({ screen: "search", log: start.key });
  logs.value = body;
}
