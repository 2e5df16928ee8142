import { spawn } from "node:child_process";
import { dirname } from "node:path";

import { unpackDebian } from "../../infra/debian.ts";

// journalctl belongs to the system's own systemd, whose shared library all of them need.
const PACKAGES = ["systemd-journal-remote", "libmicrohttpd12", "systemd", "libsystemd-shared"];

/** Programs of systemd for journals in files. */
export type JournalTools = {
  readonly upload: string;
  readonly remote: string;
  /** The folder of `journalctl`. */
  readonly bin: string;
  readonly env: NodeJS.ProcessEnv;
};

/**
 * Downloads and unpacks Debian's packages without installing them.
 * @throws StartError that says what is needed
 */
export async function journalTools(): Promise<JournalTools> {
  const unpacked = await unpackDebian(PACKAGES);
  return {
    upload: unpacked.file("lib/systemd/systemd-journal-upload", "usr/lib/systemd/systemd-journal-upload"),
    remote: unpacked.file("lib/systemd/systemd-journal-remote", "usr/lib/systemd/systemd-journal-remote"),
    bin: dirname(unpacked.file("bin/journalctl", "usr/bin/journalctl")),
    env: { ...process.env, ...unpacked.environment },
  };
}

/** Writes a journal with entries of journald's export format. */
export async function writeJournal({ remote, env }: JournalTools, file: string, entries: Buffer): Promise<void> {
  const child = spawn(remote, ["--output", file, "-"], { env, stdio: ["pipe", "ignore", "pipe"] });
  child.stdin.end(entries);
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`systemd-journal-remote ended with ${String(code)}: ${err}`);
}

/**
 * Returns an entry of the export format; values of several lines or binary ones are preceded by
 * their length.
 */
export function entryOf(n: number, fields: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = [
    Buffer.from(
      `__REALTIME_TIMESTAMP=${1_767_323_045_678_901 + n * 1000}\n__MONOTONIC_TIMESTAMP=${1_000_000 + n * 1000}\n` +
        "_BOOT_ID=0123456789abcdef0123456789abcdef\n",
    ),
  ];
  for (const [name, value] of Object.entries(fields)) {
    const bytes = Buffer.from(value);
    if (!bytes.includes(10) && typeof value === "string") parts.push(Buffer.from(`${name}=${value}\n`));
    else {
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(bytes.length));
      parts.push(Buffer.from(`${name}\n`), length, bytes, Buffer.from("\n"));
    }
  }
  parts.push(Buffer.from("\n"));
  return Buffer.concat(parts);
}
