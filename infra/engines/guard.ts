import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Runs `command` once this process or the calling thread is gone, even after kill -9. Disposing of
 * the result cancels it. A shell waits for the end of a pipe whose other end only this process
 * holds. It has its own session, so Ctrl-C does not end it. It does not use `exec`: in small Linux
 * images `kill` is only a builtin.
 */
export function runAfterExit(command: string, args: readonly string[]): Disposable {
  const shell = spawn("/bin/sh", ["-c", 'read -r _; "$@"', "guard", command, ...args], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // The guard must not keep the process that it waits for alive.
  shell.unref();
  (shell.stdin as Socket).unref();
  shell.stdin.on("error", () => {});
  return { [Symbol.dispose]: () => void shell.kill("SIGKILL") };
}

/** Kills a child once this process is gone, whatever state it is in. */
export function killAfterExit<Child extends ChildProcess>(child: Child): Child {
  if (child.pid === undefined) return child;
  const guard = runAfterExit("kill", ["-9", String(child.pid)]);
  // After the exit, the pid may be reused by another process.
  child.once("exit", () => guard[Symbol.dispose]());
  return child;
}
