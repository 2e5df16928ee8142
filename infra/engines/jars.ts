import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { StartError } from "../../src/errors.ts";
import type { Jdk } from "./jdk.ts";
import { withLock } from "./lock.ts";
import { ELASTICSEARCH_RELEASES, type ElasticsearchRelease } from "./releases.ts";
import type { Say } from "./settings.ts";
import { JVM_FOLDER } from "./settings.ts";

const run = promisify(execFile);

/** Slow connections need minutes for the 85 MB of the two servers. */
const RESOLVE_TIMEOUT_MS = 15 * 60_000;

/** Version of the layout below. Increase it on changes, to invalidate cached layouts. */
const LAYOUT = 1;

export type Jars = {
  /** Class path of Kafka. */
  readonly kafka: string;
  /** Module path of Elasticsearch. */
  readonly elasticsearch: string;
  /** Home of Elasticsearch, laid out as in its distribution with the transport as only module. */
  readonly elasticsearchHome: string;
};

export type ResolveOptions = {
  /** Folder in which the jars are kept between runs. */
  readonly cache: string;
  readonly release: ElasticsearchRelease;
  readonly jdk: Jdk;
  readonly say: Say;
  /** Aborts the resolution. */
  readonly signal?: AbortSignal | undefined;
  /** Environment whose PATH contains Maven. */
  readonly env?: Readonly<Record<string, string | undefined>>;
};

/**
 * Returns the jars of both engines. Maven resolves them at the first call; they are cached under a
 * hash of the project files and the release. Safe for concurrent processes; interruptions leave no partial result.
 * @throws StartError that says what to install, or what Maven reported
 */
export async function resolveJars(options: ResolveOptions): Promise<Jars> {
  const { cache, release, jdk, say } = options;
  const folder = join(cache, await projectHash(release));
  if (!existsSync(folder)) {
    await withLock(join(cache, "lock"), RESOLVE_TIMEOUT_MS, async () => {
      if (existsSync(folder)) return;
      say("Resolving Kafka and Elasticsearch with Maven; this happens once ...");
      const unfinished = join(cache, "unfinished");
      await rm(unfinished, { recursive: true, force: true });
      await copyDependencies(unfinished, options);
      await layOutTransport(unfinished, jdk);
      await rename(unfinished, folder);
    });
  }
  return {
    kafka: join(folder, "kafka"),
    elasticsearch: join(folder, "elasticsearch"),
    elasticsearchHome: join(folder, "elasticsearch-home"),
  };
}

async function projectHash(release: ElasticsearchRelease): Promise<string> {
  const hash = createHash("sha256").update(`layout ${LAYOUT}\n${ELASTICSEARCH_RELEASES[release]}\n`);
  for (const file of ["pom.xml", "kafka/pom.xml", "elasticsearch/pom.xml"]) {
    hash.update(await readFile(join(JVM_FOLDER, file)));
  }
  return hash.digest("hex").slice(0, 12);
}

async function copyDependencies(folder: string, options: ResolveOptions): Promise<void> {
  const { release, jdk, signal, env = process.env } = options;
  const pom = join(JVM_FOLDER, "pom.xml");
  const values = [`-Dengines.lib=${resolve(folder)}`, `-Delasticsearch.version=${ELASTICSEARCH_RELEASES[release]}`];
  const goal = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", ...values];
  const limits = { timeout: RESOLVE_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024, ...(signal ? { signal } : {}) };
  try {
    await run("mvn", goal, { env: { ...env, JAVA_HOME: jdk.home }, ...limits });
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string };
    if (code === "ENOENT") {
      throw new StartError(
        "The local engines are downloaded with Maven, but `mvn` was not found: " +
          "install it (Debian: apt install maven; macOS: brew install maven).",
      );
    }
    const complaints = (stdout ?? "").split("\n").filter((line) => line.includes("ERROR"));
    throw new StartError(`Maven could not resolve the engines:\n${complaints.slice(0, 5).join("\n")}`, {
      cause: error,
    });
  }
}

/** Lays out the transport as a module folder, with the descriptor from inside its jar. */
async function layOutTransport(folder: string, jdk: Jdk): Promise<void> {
  const jars = join(folder, "elasticsearch");
  const module = join(folder, "elasticsearch-home/modules/transport-netty4");
  await mkdir(module, { recursive: true });
  const names = (await readdir(jars)).filter((name) => /^(?:netty|transport-netty4)-/.test(name));
  for (const name of names) await rename(join(jars, name), join(module, name));

  const transport = names.find((name) => name.startsWith("transport-netty4-"));
  if (!transport) throw new StartError("Maven resolved no transport-netty4: see infra/jvm/elasticsearch/pom.xml.");
  const inside = "META-INF/es-plugins/transport-netty4";
  await run(join(jdk.home, "bin/jar"), ["--extract", "--file", transport, inside], { cwd: module });
  for (const name of await readdir(join(module, inside))) await rename(join(module, inside, name), join(module, name));
  await rm(join(module, "META-INF"), { recursive: true });
}
