import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import { readEvents } from "../../parts/api/stream.ts";
import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { cutText } from "../../parts/text/visible-text.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { CopyButton } from "../../parts/controls/copy-button.tsx";
import { useTitle } from "../../state/title.ts";
import { readPostingUrl } from "../../state/posting.ts";
import { mayChange, readsOnly } from "../../state/roles.ts";
import { PROGRAMS, SHIPPERS } from "./senders.ts";
import type { SenderGuide } from "./senders.ts";
import "../../css/first-run.css";
import "../../css/forms.css";
import "../../css/live.css";
import "../../css/settings.css";

/** Guides to the first event of a log: a key, ways to send, and the event as it arrives. */
export function FirstRunScreen({ app, log }: { app: App; log: string }): JSX.Element {
  useTitle(app, "First event", log);
  const isAdmin = mayChange(app, log);
  const key = useSignal("");
  const fault = useSignal<string | null>(null);
  const arrived = useSignal<EventRecord | null>(null);
  const post = useSignal("");
  /** The error that keeps an event from being shown; null for none. */
  const lost = useSignal<unknown>(null);
  useEffect(() => {
    readPostingUrl(app).then(
      (url) => (post.value = url),
      (error: unknown) => (fault.value = faultMessage(error)),
    );
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    void awaitEvent(app, log, abort.signal, {
      show: (event) => (arrived.value = event),
      failed: (error) => (lost.value = error),
    });
    return () => abort.abort();
  }, [log]);
  const makeKey = () => {
    fault.value = null;
    app.client
      .request<{ key: string }>(`/manage/1/logs/${log}/apiKeys`, { method: "POST", json: { scope: "read-write" } })
      .then(
        ({ body }) => (key.value = body.key),
        (error: unknown) => (fault.value = faultMessage(error)),
      );
  };
  return (
    <main id="main" tabIndex={-1} class="first">
      <div>
        <h1>Send the first event to {log}</h1>
        <p>One plain HTTP post is an event. Nothing has to be installed.</p>
      </div>
      <Step number={1} title="Take a key" isDone={key.value !== ""}>
        {!isAdmin ? (
          <p class="form">{`${readsOnly(log)} Ask one of them for a key.`}</p>
        ) : key.value === "" ? (
          <button class="btn" type="button" onClick={makeKey}>
            Make a key
          </button>
        ) : (
          <div class="secret acts">
            <output aria-label="New key">{key.value}</output>
            <CopyButton class="btn" text={key.value} />
          </div>
        )}
        {fault.value !== null && (
          <p class="err" role="alert">
            {fault.value}
          </p>
        )}
        {isAdmin && (
          <p class="form help note">
            It reads and writes. It is shown now and never again, but you can make another in Settings.
          </p>
        )}
      </Step>
      <Step number={2} title="Send something" isDone={arrived.value !== null}>
        <Senders target={{ post: post.value, log, key: key.value === "" ? "KEY" : key.value }} />
        <p class="form">
          <label for="post">Events are posted to</label>
          <input
            class="in"
            id="post"
            value={post.value}
            onInput={(event) => (post.value = event.currentTarget.value)}
          />
        </p>
      </Step>
      <Step number={3} title="See it arrive" isDone={arrived.value !== null}>
        <p class="arrive" role="status">
          {arrived.value === null ? (
            <>
              <span class="dot wait" aria-hidden="true" />
              {lost.value === null
                ? "Waiting for the first event. It appears here by itself."
                : `${faultMessage(lost.value)}. It is tried again by itself.`}
            </>
          ) : (
            <>
              <span class="dot" aria-hidden="true" />
              {cutText(arrived.value.text)}
              <span class="space" />
              <a href={app.location.link({ screen: "search", log })}>Search {log}</a>
            </>
          )}
        </p>
      </Step>
    </main>
  );
}

function Step(properties: {
  readonly number: number;
  readonly title: string;
  readonly isDone: boolean;
  readonly children: JSX.Element | readonly (JSX.Element | false)[];
}): JSX.Element {
  const { number, title, isDone, children } = properties;
  return (
    <section class={isDone ? "step done" : "step"}>
      <span class="no">{isDone ? <Icon name="tick" /> : number}</span>
      <div>
        <h2>{title}</h2>
        {children}
      </div>
    </section>
  );
}

function Senders({ target }: { target: Parameters<SenderGuide["code"]>[0] }): JSX.Element {
  const chosen = useSignal(PROGRAMS[0]!);
  const { code: codeFor, note } = chosen.value;
  // The typed address may be invalid.
  const code = URL.canParse(target.post) ? codeFor(target) : "";
  return (
    <>
      <SenderTabs label="By a command or a program" senders={PROGRAMS} chosen={chosen} />
      <SenderTabs label="By what runs already" senders={SHIPPERS} chosen={chosen} />
      <div id="sender" role="tabpanel" aria-labelledby={idOf(chosen.value)}>
        <pre class="codebox" tabIndex={0}>
          {code}
          <CopyButton class="btn small" text={code} />
        </pre>
        {note !== undefined && <p class="note">{note}</p>}
      </div>
    </>
  );
}

function idOf({ name }: SenderGuide): string {
  return `sender-${name.replace(/\W/g, "-").toLowerCase()}`;
}

type SenderTabsProperties = {
  readonly label: string;
  readonly senders: readonly SenderGuide[];
  readonly chosen: Signal<SenderGuide>;
};

function SenderTabs({ label, senders, chosen }: SenderTabsProperties): JSX.Element {
  const at = senders.indexOf(chosen.value);
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = senders[(at + step + senders.length) % senders.length]!;
    chosen.value = next;
    document.getElementById(idOf(next))?.focus();
  };
  return (
    <div class="tabs">
      <span class="note">{label}</span>
      <div class="seg" role="tablist" aria-label={label} onKeyDown={move}>
        {senders.map((sender, index) => (
          <button
            key={sender.name}
            id={idOf(sender)}
            type="button"
            role="tab"
            aria-selected={sender === chosen.value}
            aria-controls="sender"
            tabIndex={index === Math.max(0, at) ? 0 : -1}
            onClick={() => (chosen.value = sender)}
          >
            {sender.name}
          </button>
        ))}
      </div>
    </div>
  );
}

const RETRY_MS = 2_000;

/** Follows the log until an event arrives; one stored earlier counts. */
async function awaitEvent(
  app: App,
  log: string,
  signal: AbortSignal,
  { show, failed }: { show: (event: EventRecord) => void; failed: (fault: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await app.client.open(`/1/logs/${log}/tail`, {
        query: { last: 1 },
        headers: { Accept: "text/event-stream" },
        signal,
      });
      failed(null);
      if (response.body === null) return;
      for await (const { event, data } of readEvents(response.body)) {
        if (event !== "event") continue;
        show(JSON.parse(data) as EventRecord);
        return;
      }
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
