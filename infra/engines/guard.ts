import { spawn, type ChildProcess } from "node:child_process";
import type { Socket } from "node:net";

/**
 * Has `command` run once this process is gone, or the thread that asks for it: however it ends,
 * kill -9 included. To dispose of it is to call that off.
 *
 * A shell waits for the end of a pipe whose other end is held here alone. It has a session of its
 * own, so that a Ctrl-C which ends us leaves it to its work. It runs the command without `exec`:
 * small images of Linux have `kill` as a word of the shell alone.
 */
export function afterUs(command: string, args: readonly string[]): Disposable {
  const shell = spawn("/bin/sh", ["-c", 'read -r _; "$@"', "guard", command, ...args], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // It must not keep alive whom it waits for.
  shell.unref();
  (shell.stdin as Socket).unref();
  shell.stdin.on("error", () => {});
  return { [Symbol.dispose]: () => void shell.kill("SIGKILL") };
}

/** No child outlives us, whatever state it is in. */
export function killAfterUs<Child extends ChildProcess>(child: Child): Child {
  if (child.pid === undefined) return child;
  const guard = afterUs("kill", ["-9", String(child.pid)]);
  // Its number may go to another process from then on.
  child.once("exit", () => guard[Symbol.dispose]());
  return child;
}
