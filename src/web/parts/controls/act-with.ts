import { messageOf } from "../api/client.ts";
import type { App } from "../../state/app.ts";

/** Acts once a promise, such as that of loaded code, is fulfilled. A toast reports failures. */
export function actWith<Value>(
  { toaster }: Pick<App, "toaster">,
  failed: string,
  promise: Promise<Value>,
  act: (value: Value) => unknown = () => undefined,
): void {
  promise.then(act).catch((fault: unknown) => toaster.show(`${failed}: ${messageOf(fault)}`));
}
