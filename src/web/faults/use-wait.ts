import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** What takes no longer than the first is not mentioned; beyond the second it is in words. */
export const QUICK_MS = 300;
export const SLOW_MS = 3_000;

/** How far a wait has come: 0 at first, 1 once it shows, 2 once it is long. It begins anew with each `cause`. */
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
