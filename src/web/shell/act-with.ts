import { wordsOf } from "../api/client.ts";
import type { App } from "../app.ts";

/** Acts once a promise is kept, as that of code that is loaded for it. Where either fails, a toast says so. */
export function actWith<Value>(
  { toaster }: Pick<App, "toaster">,
  failed: string,
  promise: Promise<Value>,
  act: (value: Value) => unknown = () => undefined,
): void {
  promise.then(act).catch((fault: unknown) => toaster.show(`${failed}: ${wordsOf(fault)}`));
}
