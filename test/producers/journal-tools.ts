import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const FOLDER = new URL("../../.engines/debian/", import.meta.url).pathname;
const PACKAGES = ["systemd-journal-remote", "libmicrohttpd12"];

/** Programs of systemd for journals that lie in files of their own. */
export type JournalTools = { readonly upload: string; readonly remote: string; readonly env: NodeJS.ProcessEnv };

/** Debian's own, downloaded and unpacked without installing them; null with the reason where they don't run here. */
export async function journalTools(): Promise<JournalTools | { readonly missing: string }> {
  const root = join(FOLDER, "root");
  const programs = join(root, "lib", "systemd");
  try {
    if (!existsSync(join(programs, "systemd-journal-upload"))) {
      mkdirSync(FOLDER, { recursive: true });
      await run("apt-get", ["download", ...PACKAGES], { cwd: FOLDER });
      for (const name of readdirSync(FOLDER).filter((name) => name.endsWith(".deb"))) {
        await run("dpkg-deb", ["-x", join(FOLDER, name), root]);
      }
    }
    const libraries = [join(root, "usr/lib/x86_64-linux-gnu"), "/usr/lib/x86_64-linux-gnu/systemd"];
    const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(":") };
    const upload = join(programs, "systemd-journal-upload");
    await run(upload, ["--version"], { env });
    await run("journalctl", ["--version"]);
    return { upload, remote: join(programs, "systemd-journal-remote"), env };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

/** Writes a journal that holds entries of journald's export format. */
export async function writeJournal({ remote, env }: JournalTools, file: string, entries: Buffer): Promise<void> {
  const child = spawn(remote, ["--output", file, "-"], { env, stdio: ["pipe", "ignore", "pipe"] });
  child.stdin.end(entries);
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`systemd-journal-remote ended with ${String(code)}: ${err}`);
}

/** One entry of the export format; values of several lines or other bytes have their length before them. */
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
