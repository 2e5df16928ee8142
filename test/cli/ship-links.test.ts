import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type ExecutionContext } from "ava";
import { gzipSync } from "node:zlib";

import { openBytes } from "../../src/cli/ship/byte-source.ts";
import { FenceError } from "../../src/cli/ship/fence.ts";
import { readFiles } from "../../src/cli/ship/files.ts";
import { PLAIN_LINES } from "../../src/cli/ship/framing.ts";
import { ShipState } from "../../src/cli/ship/state.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { until } from "../support/until.ts";

type Read = { readonly lines: string[]; readonly refused: string[] };
type Options = { readonly linksTo?: readonly string[]; readonly followed?: AbortSignal };

/** Reads files as `loggia ship` does, into `read`. */
async function readInto(read: Read, words: readonly string[], { linksTo = [], followed }: Options = {}): Promise<Read> {
  using state = ShipState.open(null, "a test");
  const options = {
    isFollowed: followed !== undefined,
    linksTo,
    framing: PLAIN_LINES,
    state,
    signal: followed ?? new AbortController().signal,
    unreadable: (path: string, error: Error) => void read.refused.push(`${path}: ${error.message}`),
    resumed: () => {},
  };
  for await (const { records } of readFiles(words, options)) read.lines.push(...records.map(({ text }) => text));
  return read;
}

/** Makes a folder of logs, and a secret beside it. */
function place(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const logs = join(folder, "logs");
  mkdirSync(logs);
  const secret = join(folder, "secret");
  writeFileSync(secret, "secret\n");
  writeFileSync(join(logs, "real.log"), "line\n");
  return { folder, logs, secret };
}

test("links out of the named folder are skipped, and it is said why", async (t) => {
  const { folder, logs, secret } = place(t);
  symlinkSync(secret, join(logs, "evil.log"));
  symlinkSync(folder, join(logs, "sub"));
  for (const words of [[logs], [join(logs, "*.log")], [join(logs, "**/*")], [join(logs, "*", "secret")]]) {
    const { lines, refused } = await readInto({ lines: [], refused: [] }, words);
    t.false(lines.includes("secret"), words[0]);
    t.true(refused.length > 0, words[0]);
  }
  const { refused } = await readInto({ lines: [], refused: [] }, [logs]);
  t.deepEqual(refused, [
    `${join(logs, "evil.log")}: it is a link to ${secret}, outside of ${logs}; ` +
      "name the folder of what it leads to with --links-to, if that is to be posted",
  ]);
});

test("links within the folder, named links and links to a named folder are read", async (t) => {
  const { folder, logs, secret } = place(t);
  symlinkSync(join(logs, "real.log"), join(logs, "current"));
  const within = await readInto({ lines: [], refused: [] }, [logs]);
  // A file and a link to it are one file.
  t.deepEqual(within, { lines: ["line"], refused: [] });
  symlinkSync(secret, join(folder, "link"));
  t.deepEqual((await readInto({ lines: [], refused: [] }, [join(folder, "link")])).lines, ["secret"]);
  // As Kubernetes lays out the logs of containers.
  for (const name of ["pods", "docker", "containers"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "docker", "c.log"), "of a container\n");
  symlinkSync(join(folder, "docker", "c.log"), join(folder, "pods", "0.log"));
  symlinkSync(join(folder, "pods", "0.log"), join(folder, "containers", "web.log"));
  const linksTo = [join(folder, "pods"), join(folder, "docker")];
  const words = [join(folder, "containers", "*.log")];
  t.deepEqual((await readInto({ lines: [], refused: [] }, words, { linksTo })).lines, ["of a container"]);
  t.deepEqual((await readInto({ lines: [], refused: [] }, words, { linksTo: linksTo.slice(0, 1) })).lines, []);
});

test("a followed file that a link replaces is not read through it, nor a link in place of a rotation", async (t) => {
  const { logs, secret } = place(t);
  const file = join(logs, "real.log");
  const stop = new AbortController();
  const read: Read = { lines: [], refused: [] };
  const running = readInto(read, [file], { followed: stop.signal });
  await until(() => read.lines.length === 1, { what: "the first line" });
  renameSync(file, join(logs, "other"));
  symlinkSync(secret, file);
  symlinkSync(secret, join(logs, "real.log.1"));
  await until(() => read.refused.length > 0, { what: "the link to be refused" });
  rmSync(file);
  rmSync(join(logs, "real.log.1"));
  writeFileSync(file, "again\n");
  await until(() => read.lines.includes("again"), { what: "the file that is back" });
  stop.abort();
  await running;
  t.deepEqual(read.lines, ["line", "again"]);
});

test("what counts is the file that is opened, however its path is changed meanwhile", async (t) => {
  const { folder, logs, secret } = place(t);
  const path = join(logs, "real.log");
  await using plain = await openBytes(path, [logs]);
  t.is((await plain.read(0, 100)).toString(), "line\n");
  rmSync(path);
  symlinkSync(secret, path);
  t.is((await plain.read(0, 100)).toString(), "line\n");
  await t.throwsAsync(openBytes(path, [logs]), { instanceOf: FenceError });
  // An archive is opened again when its bytes are read.
  const archive = join(logs, "a.gz");
  writeFileSync(archive, gzipSync("packed\n"));
  await using packed = await openBytes(archive, [logs]);
  rmSync(archive);
  writeFileSync(join(folder, "secret.gz"), gzipSync("secret\n"));
  symlinkSync(join(folder, "secret.gz"), archive);
  t.is((await packed.read(0, 100)).toString(), "");
  t.true(packed.fault() instanceof FenceError);
});

test("the state is made private, also where it was readable before", (t) => {
  const folder = join(temporaryFolder(t), "state");
  mkdirSync(folder);
  writeFileSync(join(folder, "positions.db"), "");
  for (const [name, mode] of [["", 0o755], ["positions.db", 0o644]] as const) chmodSync(join(folder, name), mode); // prettier-ignore
  {
    using state = ShipState.open(folder, "a target");
    state.storeBatch(Buffer.from("a line"), false, []);
    for (const name of readdirSync(folder)) t.is(statSync(join(folder, name)).mode & 0o077, 0, name);
    t.is(statSync(folder).mode & 0o077, 0);
  }
  // A folder that holds other files is shared on purpose.
  writeFileSync(join(folder, "other"), "");
  chmodSync(folder, 0o755);
  {
    using state = ShipState.open(folder, "a target");
    t.is([...state.pending()].length, 1);
    t.is(statSync(folder).mode & 0o077, 0o055);
  }
  const linked = join(temporaryFolder(t), "linked");
  mkdirSync(linked);
  symlinkSync(join(folder, "other"), join(linked, "positions.db"));
  t.throws(() => ShipState.open(linked, "a target"), { message: /can't be stored in .*linked/ });
});
