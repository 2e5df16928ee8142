import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

/** Delay before the line is shown, in milliseconds, so that it does not flash. */
const QUICK_MS = 300;

/** A progress line at the top, shown once loading takes a while. */
export function Progress(): JSX.Element | null {
  const isSlow = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (isSlow.value = true), QUICK_MS);
    return () => clearTimeout(timer);
  }, []);
  return isSlow.value ? <div class="progress" role="progressbar" aria-label="Loading" /> : null;
}
