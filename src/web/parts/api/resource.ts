import { useSignal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { faultMessage } from "./client.ts";
import type { Client } from "./client.ts";

export type Resource<Body> = {
  /** null until known. */
  readonly value: ReadonlySignal<Body | null>;
  /** The error of the last read, in words. */
  readonly fault: ReadonlySignal<string | null>;
  readonly reload: () => Promise<void>;
};

/** Reads an API path when a view is first shown; "" reads nothing. */
export function useResource<Body>({ client }: { readonly client: Client }, path: string): Resource<Body> {
  const value = useSignal<Body | null>(null);
  const fault = useSignal<string | null>(null);
  const reload = async () => {
    if (path === "") return;
    try {
      value.value = (await client.request<Body>(path)).body;
      fault.value = null;
    } catch (error) {
      fault.value = faultMessage(error);
    }
  };
  useEffect(() => void reload(), [path]);
  return { value, fault, reload };
}

/** Runs changes requested by a person, one at a time, and keeps the error message. */
export function useAction(): {
  readonly fault: ReadonlySignal<string | null>;
  readonly isBusy: ReadonlySignal<boolean>;
  readonly act: (change: () => Promise<void>) => void;
} {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const act = (change: () => Promise<void>) => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    fault.value = null;
    change()
      .catch((error: unknown) => (fault.value = faultMessage(error)))
      .finally(() => (isBusy.value = false));
  };
  return { fault, isBusy, act };
}

/** Calls a function at once and then at an interval, while `isOn`. */
export function usePolling(isOn: boolean, every_ms: number, call: () => void): void {
  useEffect(() => {
    if (!isOn) return undefined;
    call();
    const timer = setInterval(call, every_ms);
    return () => clearInterval(timer);
  }, [isOn]);
}
