/**
 * Loaded into a process before the service: kills it at its KILL_AT-th moment. A moment is before
 * or after each write to a document store or to standard output.
 */
import { type SQLInputValue, StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

let left = Number(process.env["KILL_AT"]);

function moment(): void {
  left -= 1;
  if (left === 0) process.kill(process.pid, "SIGKILL");
}

if (isMainThread) {
  type Get = (this: StatementSync, ...values: SQLInputValue[]) => unknown;
  const get = Object.getOwnPropertyDescriptor(StatementSync.prototype, "get")!.value as Get;
  const getAndCount: Get = function (...values) {
    const isWrite = /^\s*(?:INSERT INTO|UPDATE) documents/.test(this.sourceSQL);
    if (isWrite) moment();
    const row = get.apply(this, values);
    if (isWrite) moment();
    return row;
  };
  Object.defineProperty(StatementSync.prototype, "get", { value: getAndCount });
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = ((...words: Parameters<typeof write>) => {
    moment();
    const taken = write(...words);
    moment();
    return taken;
  }) as typeof write;
}
