import { signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";

import { ApiFault } from "../parts/api/client.ts";
import type { Client } from "../parts/api/client.ts";
import type { Account } from "../parts/api/types.ts";

/** `ended`: the session has ended since the page was opened; the page's content stays. */
export type SessionState = "unknown" | "out" | "in" | "ended";

export type Session = {
  readonly state: ReadonlySignal<SessionState>;
  readonly account: ReadonlySignal<Account | null>;
  /** Reads who is signed in. @throws ApiFault if the service is unreachable */
  readonly open: () => Promise<void>;
  /** Signs in. @throws ApiFault; 401 for wrong credentials or a wrong ticket */
  readonly signIn: (credentials: { email: string; password: string } | { ticket: string }) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Called for each 401, which is ignored if its request was sent before the last sign-in. */
  readonly end: (sent_ms: number) => void;
};

export function createSession(client: () => Client): Session {
  const state = signal<SessionState>("unknown");
  const account = signal<Account | null>(null);
  let entered_ms = 0;
  const enter = (entered: Account) => {
    entered_ms = performance.now();
    account.value = entered;
    state.value = "in";
  };
  return {
    state,
    account,
    async open() {
      try {
        enter((await client().request<Account>("/1/session")).body);
      } catch (error) {
        if (!(error instanceof ApiFault) || error.status !== 401) throw error;
        state.value = "out";
      }
    },
    async signIn(credentials) {
      enter((await client().request<Account>("/1/session", { method: "POST", json: credentials })).body);
    },
    async signOut() {
      try {
        await client().request("/1/session", { method: "DELETE" });
      } catch (error) {
        if (!(error instanceof ApiFault) || error.status !== 401) throw error;
      }
      account.value = null;
      state.value = "out";
    },
    end(sent_ms) {
      if (state.peek() === "in" && sent_ms >= entered_ms) state.value = "ended";
    },
  };
}
