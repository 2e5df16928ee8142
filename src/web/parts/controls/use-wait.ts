import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Waits up to the first limit are not shown; those beyond the second are described in words. */
export const QUICK_MS = 300;
export const SLOW_MS = 3_000;

/** Returns the stage of a wait: 0, then 1 once visible, 2 once long. A new `cause` restarts it. */
export function useWait(isOn: boolean, cause: unknown): number {
  const stage = useSignal(0);
  useEffect(() => {
    stage.value = 0;
    if (!isOn) return undefined;
    const timers = [QUICK_MS, SLOW_MS].map((delay_ms, i) => setTimeout(() => (stage.value = i + 1), delay_ms));
    return () => timers.forEach(clearTimeout);
  }, [isOn, cause]);
  return isOn ? stage.value : 0;
}
