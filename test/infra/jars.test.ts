import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import test from "ava";
import { resolveJars } from "../../infra/engines/jars.ts";
import { StartError } from "../../src/errors.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { plantJdk, plantProgram } from "./support.ts";

/** A Maven that creates a jar of each kind and records each call in `calls`. */
const WORKING_MAVEN = (calls: string): string => `
for word in "$@"; do case $word in -Dengines.lib=*) lib=\${word#*=};; esac; done
echo "$JAVA_HOME" >> '${calls}'
for word in "$@"; do case $word in -Delasticsearch.version=*) echo "\${word#*=}" >> '${calls}-releases';; esac; done
/bin/mkdir -p "$lib/kafka" "$lib/elasticsearch"
: > "$lib/kafka/kafka_2.13-1.jar"
for name in elasticsearch-1 transport-netty4-1 netty-common-4; do : > "$lib/elasticsearch/$name.jar"; done
/bin/sleep 0.2`;

const WORKING_JAR = `
/bin/mkdir -p META-INF/es-plugins/transport-netty4
echo name=transport-netty4 > META-INF/es-plugins/transport-netty4/plugin-descriptor.properties`;

const RELEASE = "9.5" as const;

function plant(folder: string): { cache: string; calls: string; bin: string; jdk: { home: string; release: number } } {
  const home = plantJdk(join(folder, "jdk"), "25");
  return {
    cache: join(folder, "jars"),
    calls: join(folder, "calls"),
    bin: join(folder, "bin"),
    jdk: { home, release: 25 },
  };
}

test("concurrent calls resolve once, and later calls not at all", async (t) => {
  const { cache, calls, bin, jdk } = plant(temporaryFolder(t));
  plantProgram(bin, "mvn", WORKING_MAVEN(calls));
  plantProgram(join(jdk.home, "bin"), "jar", WORKING_JAR);
  const said: string[] = [];
  const options = { cache, release: RELEASE, jdk, env: { PATH: bin }, say: (line: string) => void said.push(line) };
  const [first, ...others] = await Promise.all([resolveJars(options), resolveJars(options), resolveJars(options)]);
  const later = await resolveJars({ ...options, env: { PATH: "" } });
  for (const other of [...others, later]) t.deepEqual(other, first);

  t.is(readFileSync(calls, "utf8"), `${jdk.home}\n`);
  t.is(said.length, 1);
  t.deepEqual(readdirSync(first.kafka), ["kafka_2.13-1.jar"]);
  t.deepEqual(readdirSync(first.elasticsearch), ["elasticsearch-1.jar"]);
  t.deepEqual(readdirSync(join(first.elasticsearchHome, "modules/transport-netty4")).toSorted(), [
    "netty-common-4.jar",
    "plugin-descriptor.properties",
    "transport-netty4-1.jar",
  ]);
});

test("each release of Elasticsearch has jars of its own", async (t) => {
  const { cache, calls, bin, jdk } = plant(temporaryFolder(t));
  plantProgram(bin, "mvn", WORKING_MAVEN(calls));
  plantProgram(join(jdk.home, "bin"), "jar", WORKING_JAR);
  const options = { cache, jdk, env: { PATH: bin }, say: () => {} };
  const first = await resolveJars({ ...options, release: "9.5" });
  const other = await resolveJars({ ...options, release: "8.19" });
  t.not(other.elasticsearch, first.elasticsearch);
  t.is(readFileSync(`${calls}-releases`, "utf8"), "9.5.3\n8.19.5\n");
});

test("an interrupted resolution does not count: the next one starts again", async (t) => {
  const { cache, calls, bin, jdk } = plant(temporaryFolder(t));
  plantProgram(bin, "mvn", WORKING_MAVEN(calls));
  const options = { cache, release: RELEASE, jdk, env: { PATH: bin }, say: () => {} };
  await t.throwsAsync(resolveJars(options));
  plantProgram(join(jdk.home, "bin"), "jar", WORKING_JAR);
  const { elasticsearch } = await resolveJars(options);
  t.true(existsSync(join(elasticsearch, "elasticsearch-1.jar")));
  t.is(readFileSync(calls, "utf8").split("\n").length - 1, 2);
});

test("without Maven, one line says what to install", async (t) => {
  const { cache, bin, jdk } = plant(temporaryFolder(t));
  const error = await t.throwsAsync(resolveJars({ cache, release: RELEASE, jdk, env: { PATH: bin }, say: () => {} }), {
    instanceOf: StartError,
  });
  t.regex(error.message, /^The local engines are downloaded with Maven, but `mvn` was not found: install it .*$/);
});

test("an error of Maven is shown", async (t) => {
  const { cache, bin, jdk } = plant(temporaryFolder(t));
  plantProgram(bin, "mvn", 'echo "[INFO] working"; echo "[ERROR] Could not transfer kafka_2.13"; exit 1');
  const error = await t.throwsAsync(resolveJars({ cache, release: RELEASE, jdk, env: { PATH: bin }, say: () => {} }), {
    instanceOf: StartError,
  });
  t.is(error.message, "Maven could not resolve the engines:\n[ERROR] Could not transfer kafka_2.13");
});
