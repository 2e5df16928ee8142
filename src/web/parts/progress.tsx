import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

/** What is there sooner needs no line: it would only flash. */
const QUICK_MS = 300;

/** The line at the top of what is being loaded, once that has taken a while. */
export function Progress(): JSX.Element | null {
  const isSlow = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (isSlow.value = true), QUICK_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSlow.value ? <div class="progress" role="progressbar" aria-label="Loading" /> : null;
}
