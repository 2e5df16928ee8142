import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { findJdk } from "../../infra/engines/jdk.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantJdk } from "./support.ts";

test("JAVA_HOME takes precedence if it is new enough, even with a newer JDK installed", async (t) => {
  const root = temporaryFolder(t);
  const chosen = plantJdk(join(root, "chosen"), "21.0.4");
  plantJdk(join(root, "jvm/newer"), "25.0.1");
  const jdk = await findJdk({ env: { JAVA_HOME: chosen }, roots: [join(root, "jvm")] });
  t.deepEqual(jdk, { home: chosen, release: 21 });
});

test("a JAVA_HOME that is too old or not a JDK is skipped for the newest installed one", async (t) => {
  const root = temporaryFolder(t);
  const old = plantJdk(join(root, "jvm/17"), "17.0.15");
  plantJdk(join(root, "jvm/21"), "21.0.4");
  const newest = plantJdk(join(root, "jvm/25"), "25");
  for (const JAVA_HOME of [old, join(root, "nowhere"), ""]) {
    const jdk = await findJdk({ env: { JAVA_HOME }, roots: [join(root, "jvm"), join(root, "no such root")] });
    t.deepEqual(jdk, { home: newest, release: 25 });
  }
});

test("finds bundles of macOS and kegs of Homebrew", async (t) => {
  const root = temporaryFolder(t);
  const bundle = plantJdk(join(root, "a/temurin-21.jdk/Contents/Home"), "21");
  const keg = plantJdk(join(root, "b/openjdk/libexec/openjdk.jdk/Contents/Home"), "24");
  t.is((await findJdk({ env: {}, roots: [join(root, "a")] })).home, bundle);
  t.is((await findJdk({ env: {}, roots: [join(root, "b")] })).home, keg);
});

test("finds the JDK of the java in PATH, through links", async (t) => {
  const root = temporaryFolder(t);
  const home = plantJdk(join(root, "somewhere/else"), "22.0.2");
  mkdirSync(join(root, "bin"));
  symlinkSync(join(home, "bin/java"), join(root, "bin/java"));
  t.deepEqual(await findJdk({ env: { PATH: `${join(root, "empty")}:${join(root, "bin")}` }, roots: [] }), {
    home,
    release: 22,
  });
});

test("asks java itself if the release file is missing", async (t) => {
  const root = temporaryFolder(t);
  const home = plantJdk(join(root, "jvm/nameless"), null);
  writeFileSync(join(home, "bin/java"), "#!/bin/sh\necho 'openjdk version \"23.0.1\" 2024-10-15' >&2\n", {
    mode: 0o755,
  });
  t.is((await findJdk({ env: {}, roots: [join(root, "jvm")] })).release, 23);
});

test("without a JDK that is new enough, one line says what to install", async (t) => {
  const root = temporaryFolder(t);
  const jre = join(root, "jvm/jre-25");
  mkdirSync(join(jre, "bin"), { recursive: true });
  writeFileSync(join(jre, "bin/java"), "", { mode: 0o755 });
  writeFileSync(join(jre, "release"), 'JAVA_VERSION="25"\n');
  const none = await t.throwsAsync(findJdk({ env: {}, roots: [join(root, "jvm")] }), { instanceOf: StartError });
  t.regex(none.message, /^The local engines need a JDK of release 21 or newer: install one .* JAVA_HOME at it\.$/);

  const old = plantJdk(join(root, "jvm/8"), "1.8.0_392");
  const tooOld = await t.throwsAsync(findJdk({ env: {}, roots: [join(root, "jvm")] }), { instanceOf: StartError });
  t.true(tooOld.message.includes(`(the newest found is 8, in ${old})`), tooOld.message);
});
