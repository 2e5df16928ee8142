import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { ApiFault } from "./client.ts";
import { delayAfter } from "./back-off.ts";

type Retry = {
  readonly fault: unknown;
  /** false while a try is running, or if the fault is not temporary. */
  readonly isOn: boolean;
  readonly retry: () => void;
  /** Whether the service itself delays each try as long as it can; the wait then does not grow. */
  readonly isHeldBack?: boolean;
};

/**
 * Retries after a fault: with growing delays, and at once when the device is online again.
 *
 * @returns seconds until the next try; 0 if none is scheduled
 */
export function useRetry({ fault, isOn, retry, isHeldBack = false }: Retry): number {
  const left_s = useSignal(0);
  const counted = useRef<{ fault: unknown; failures: number }>({ fault: null, failures: 0 });
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (!isOn) return undefined;
    const { current } = counted;
    if (current.fault !== fault) counted.current = { fault, failures: current.failures + 1 };
    const failures = isHeldBack ? 1 : counted.current.failures;
    const wait_s = delayAfter(failures, fault instanceof ApiFault ? fault.retryAfter_s : null);
    const at_ms = Date.now() + wait_s * 1000;
    const stop = () => {
      clearInterval(timer);
      removeEventListener("online", go);
      left_s.value = 0;
    };
    const go = () => {
      stop();
      latest.current();
    };
    const step = () => {
      const rest_ms = at_ms - Date.now();
      if (rest_ms <= 0) go();
      else left_s.value = Math.ceil(rest_ms / 1000);
    };
    left_s.value = wait_s;
    const timer = setInterval(step, 250);
    addEventListener("online", go);
    return stop;
  }, [fault, isOn]);
  return left_s.value;
}
