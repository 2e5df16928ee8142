import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { ApiFault, faultMessage } from "../../parts/api/client.ts";
import type { App } from "../../state/app.ts";
import { Dialog } from "../../parts/controls/dialog.tsx";
import { Arches } from "../../parts/controls/icons.tsx";
import "../../css/forms.css";
import "../../css/sign-in.css";

/** The whole page while nobody is signed in. */
export function SignIn({ app }: { app: App }): JSX.Element {
  return (
    <main id="main" tabIndex={-1} class="door">
      <SignInForm app={app} email="">
        <div>
          <Arches class="arch" />
          <h1 id="sign-in">Sign in to Loggia</h1>
        </div>
      </SignInForm>
    </main>
  );
}

/** A dialog over the page after a session ended; the page behind stays as it was. */
export function SignInAgain({ app }: { app: App }): JSX.Element {
  return (
    <Dialog class="again" title="Your session ended" onClose={null}>
      <SignInForm app={app} email={app.session.account.value?.email ?? ""}>
        <p id="sign-in">Sign in again and this page goes on where it was. Your query is kept.</p>
      </SignInForm>
    </Dialog>
  );
}

function SignInForm({ app, email, children }: { app: App; email: string; children: JSX.Element }): JSX.Element {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const empty = [...(form.current?.querySelectorAll("input") ?? [])].find(({ value }) => value === "");
    empty?.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (form.current === null || isBusy.value) return;
    const fields = new FormData(form.current);
    isBusy.value = true;
    fault.value = null;
    try {
      await app.session.signIn({ email: textOf(fields, "email"), password: textOf(fields, "password") });
    } catch (error) {
      fault.value = faultOf(error);
      form.current?.querySelector<HTMLInputElement>("[name=password]")?.select();
    } finally {
      isBusy.value = false;
    }
  };
  const isWrong = fault.value !== null;
  return (
    <form ref={form} class="form" aria-labelledby="sign-in" onSubmit={(event) => void submit(event)}>
      {children}
      <div>
        <label for="email">E-mail</label>
        <input class="in" id="email" name="email" type="email" autocomplete="username" required defaultValue={email} />
      </div>
      <div>
        <label for="password">Password</label>
        <input
          class="in"
          id="password"
          name="password"
          type="password"
          autocomplete="current-password"
          required
          aria-invalid={isWrong}
          aria-describedby={isWrong ? "sign-in-fault" : undefined}
        />
        <p class="err" id="sign-in-fault" role="alert">
          {fault.value}
        </p>
      </div>
      <button class="btn solid" type="submit">
        {isBusy.value ? "Signing in…" : "Sign in"}
      </button>
      <p class="note">Accounts are made by whoever runs this service. They can also set a new password for you.</p>
    </form>
  );
}

function textOf(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === "string" ? value : "";
}

function faultOf(error: unknown): string {
  if (!(error instanceof ApiFault)) return faultMessage(error);
  if (error.status === 401) return "E-mail and password do not match.";
  if (error.status === 429) return `Too many attempts. Try again in ${error.retryAfter_s ?? 60} s.`;
  return faultMessage(error);
}
