import { faultMessage } from "../api/client.ts";
import type { Toaster } from "./toast.tsx";

/** Acts once a promise, such as that of loaded code, is fulfilled. A toast reports failures. */
export function actWith<Value>(
  { toaster }: { readonly toaster: Toaster },
  failed: string,
  promise: Promise<Value>,
  act: (value: Value) => unknown = () => undefined,
): void {
  promise.then(act).catch((fault: unknown) => toaster.show(`${failed}: ${faultMessage(fault)}`));
}
