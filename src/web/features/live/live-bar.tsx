import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import type { LiveTail } from "../../state/live/live.ts";
import { liveText } from "./text.ts";

type LiveBarProperties = { readonly live: LiveTail; readonly onStop: () => void };

/**
 * Shows whether the list follows, and resumes it. It stays while the tail is on, so that a pause
 * does not move the page.
 */
export function LiveBar({ live, onStop }: LiveBarProperties): JSX.Element {
  const { tail, rows } = live;
  const now_ms = useSeconds(tail.connection.value.kind === "waiting");
  const pause = tail.pause.value;
  const connection = tail.connection.value;
  const { dot, title, note } = liveText({
    connection,
    pause,
    waiting: rows.waiting.value,
    now_ms,
    explain: (fault) => `${faultMessage(fault)}.`,
  });
  return (
    <div class="live">
      <span class={dot === "on" ? "dot" : `dot ${dot}`} aria-hidden="true" />
      <strong>{title}</strong>
      <span class="note">{note}</span>
      <span class="space" />
      {connection.kind === "waiting" && (
        <button class="btn small" type="button" onClick={() => tail.connect()}>
          Try now
        </button>
      )}
      {pause === null ? (
        <button class="btn small" type="button" onClick={() => tail.hold("asked")}>
          <Icon name="pause" />
          Pause <kbd>p</kbd>
        </button>
      ) : (
        <button class="btn small" type="button" onClick={() => tail.resume()}>
          <Icon name="play" />
          Resume <kbd>p</kbd>
        </button>
      )}
      <button class="quiet" type="button" onClick={onStop}>
        Stop
      </button>
      <Announcement
        state={dot}
        words={
          connection.kind === "connecting"
            ? null
            : connection.kind === "open" || pause === null
              ? title
              : `${title}. ${note}`
        }
      />
    </div>
  );
}

/** Returns the current time in steps of one second, while needed. */
function useSeconds(isNeeded: boolean): number {
  const now = useSignal(0);
  useLayoutEffect(() => {
    if (!isNeeded) return undefined;
    now.value = Date.now();
    const timer = setInterval(() => (now.value = Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isNeeded]);
  return now.value;
}

const BETWEEN_MS = 10_000;
const SETTLED_MS = 500;

type Said = { readonly words: string; readonly state: string; readonly at_ms: number };

/**
 * Announces changes to screen readers: a new state once it lasts, updates of the same state at most
 * every 10 s. null, while connecting, keeps the last announcement.
 */
function Announcement({ state, words }: { readonly state: string; readonly words: string | null }): JSX.Element {
  const said = useSignal<Said>({ words: "", state: "", at_ms: -Infinity });
  useEffect(() => {
    if (words === null) return undefined;
    const last = said.peek();
    const wait_ms = last.state === state ? last.at_ms + BETWEEN_MS - performance.now() : SETTLED_MS;
    const say = () => (said.value = { words, state, at_ms: performance.now() });
    const timer = setTimeout(say, Math.max(0, wait_ms));
    return () => clearTimeout(timer);
  }, [words, state]);
  return (
    <span class="sr" role="status">
      {said.value.words}
    </span>
  );
}
