import { join, resolve } from "node:path";
import { StartError } from "../../src/errors.ts";
import { ELASTICSEARCH_RELEASES, type ElasticsearchRelease } from "./releases.ts";

const PROJECT = resolve(import.meta.dirname, "../..");

/** Maven projects, launcher and logging configuration of engines that run as local processes. */
export const JVM_FOLDER = join(PROJECT, "infra/jvm");
export const COMPOSE_FILE = join(PROJECT, "infra/compose.yaml");

/** Receives one line of progress. */
export type Say = (line: string) => void;

/** Settings of `make up` that the environment may change. */
export type EngineSettings = {
  /** Data, logs and state of the engines of `make up` (ENGINES_DIR, default `.engines`). */
  readonly folder: string;
  /** Resolved jars, shared by all runs (ENGINES_JARS, default `.engines/jars`). */
  readonly jars: string;
  /** ENGINES_KAFKA_PORT, default 9092. */
  readonly kafkaPort: number;
  /** ENGINES_ELASTICSEARCH_PORT, default 9200. */
  readonly elasticsearchPort: number;
  /** ENGINES_JVM_OPTIONS, separated by blanks: further options of the JVMs of local processes. */
  readonly jvmOptions: readonly string[];
  /** ENGINES_WAY: containers or processes; null: containers if a container engine is available. */
  readonly way: Way | null;
  /** ENGINES_ELASTICSEARCH; null: the release that runs, or the default. */
  readonly release: ElasticsearchRelease | null;
};

export type Way = "containers" | "processes";

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws StartError that names the invalid variable */
export function readSettings(env: Environment = process.env): EngineSettings {
  return {
    folder: resolve(env["ENGINES_DIR"] || join(PROJECT, ".engines")),
    jars: resolve(env["ENGINES_JARS"] || join(PROJECT, ".engines/jars")),
    kafkaPort: readPort(env, "ENGINES_KAFKA_PORT", 9092),
    elasticsearchPort: readPort(env, "ENGINES_ELASTICSEARCH_PORT", 9200),
    jvmOptions: (env["ENGINES_JVM_OPTIONS"] ?? "").split(/\s+/).filter((option) => option !== ""),
    way: readWay(env["ENGINES_WAY"]),
    release: readRelease(env["ENGINES_ELASTICSEARCH"]),
  };
}

function readPort(env: Environment, name: string, otherwise: number): number {
  const text = env[name];
  if (!text) return otherwise;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) {
    throw new StartError(`${name} must be a port from 1 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
}

function readWay(text: string | undefined): Way | null {
  if (!text) return null;
  if (text === "containers" || text === "processes") return text;
  throw new StartError(`ENGINES_WAY must be containers or processes, not ${JSON.stringify(text)}.`);
}

function readRelease(text: string | undefined): ElasticsearchRelease | null {
  if (!text) return null;
  if (Object.hasOwn(ELASTICSEARCH_RELEASES, text)) return text as ElasticsearchRelease;
  const names = Object.keys(ELASTICSEARCH_RELEASES).join(" or ");
  throw new StartError(`ENGINES_ELASTICSEARCH must be ${names}, not ${JSON.stringify(text)}.`);
}
