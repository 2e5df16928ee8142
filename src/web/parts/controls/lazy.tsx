import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType, JSX } from "preact";
import { useEffect } from "preact/hooks";

import { Message } from "./message.tsx";
import { Progress } from "./progress.tsx";

/** Placeholder of a component while its code loads. Its children report a failed load. */
export type Placeholder = (properties: { readonly children?: ComponentChildren }) => JSX.Element;

/** Loads code in advance, after a delay. A failure is reported when the code is used. */
export function usePreload(load: () => Promise<unknown>): void {
  useEffect(() => {
    const timer = setTimeout(() => load().catch(() => undefined), AHEAD_MS);
    return () => clearTimeout(timer);
  }, []);
}

const AHEAD_MS = 1_000;

/**
 * Creates a component whose code is loaded when it is first shown.
 * @param place the placeholder until then, or `screen` if the component fills a screen
 */
export function lazy<Properties extends object>(
  load: () => Promise<ComponentType<Properties>>,
  place?: Placeholder | "screen",
): (properties: Properties) => JSX.Element {
  let loaded: ComponentType<Properties> | null = null;
  return function Lazy(properties) {
    const View = useSignal<{ readonly view: ComponentType<Properties> | null }>({ view: loaded });
    const failed = useSignal(false);
    const start = () => {
      failed.value = false;
      load().then(
        (view) => (View.value = { view: (loaded = view) }),
        () => (failed.value = true),
      );
    };
    useEffect(() => {
      if (View.peek().view === null) start();
    }, []);
    const { view: Found } = View.value;
    if (Found !== null) return <Found {...properties} />;
    const Place = typeof place === "function" ? place : null;
    if (!failed.value) return Place === null ? <Progress /> : <Place />;
    const message = (
      <Message
        kind="warn"
        title="A part of the page could not be loaded"
        actions={[
          { label: "Try again", act: start },
          { label: "Reload the page", act: () => location.reload() },
        ]}
      >
        The service may be away, or was replaced by another version.
      </Message>
    );
    if (Place !== null) return <Place>{message}</Place>;
    if (place !== "screen") return message;
    return (
      <main id="main" tabIndex={-1}>
        <h1 class="sr">Loggia</h1>
        {message}
      </main>
    );
  };
}
