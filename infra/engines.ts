import { spawn } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";

import { parseBase, defaultAddress } from "../src/cli/addresses.ts";
import { CommandError } from "../src/cli/request.ts";
import { printableLines } from "../src/cli/terminal.ts";
import { StartError } from "../src/errors.ts";
import { describeService } from "./engines/service.ts";
import { readSettings } from "./engines/settings.ts";
import type { EngineSettings } from "./engines/settings.ts";
import { down, status, up } from "./engines/up.ts";

const USAGE = `Usage: node infra/engines.ts <command>
  up              start a local Kafka and Elasticsearch; their data is kept between starts
  down            stop them
  status          show what runs and where; for a running service also lag and dead letters. The service is
                  looked for at LOGGIA_OPS, --api (or LOGGIA_API) and --post (or LOGGIA_POST), host:port or URLs
  run -- <words>  start them, then run a command with KAFKA_BROKERS and ELASTICSEARCH_URL set
Settings, by environment: ENGINES_KAFKA_PORT (9092), ENGINES_ELASTICSEARCH_PORT (9200), ENGINES_DIR (.engines),
ENGINES_JARS (.engines/jars), ENGINES_ELASTICSEARCH (9.5 or 8.19), ENGINES_WAY (containers or processes; containers where a container engine answers),
ENGINES_JVM_OPTIONS (further options of the JVMs of local processes, separated by blanks)`;

const say = (line: string): void => console.log(line);

/** Returns the exit code: 0 success, 1 failure, 2 usage error. */
async function command([name = "", ...words]: readonly string[]): Promise<number> {
  const settings = readSettings();
  switch (name) {
    case "up": {
      const state = await up(settings, say);
      printAddresses(state.kafka!.brokers.join(","), state.elasticsearch!.url);
      return 0;
    }
    case "down":
      await down(settings);
      say(`Kafka and Elasticsearch are stopped; their data is kept.`);
      return 0;
    case "status": {
      const addresses = serviceAddresses(words);
      const engines = await status(settings.folder);
      printAddresses(engines.kafka, engines.elasticsearch);
      for (const line of await describeService(addresses)) say(line);
      return 0;
    }
    case "run":
      return run(settings, words[0] === "--" ? words.slice(1) : words);
    default:
      console.error(USAGE);
      return 2;
  }
}

function printAddresses(kafka: string, elasticsearch: string): void {
  say(`Kafka          ${kafka}`);
  say(`Elasticsearch  ${elasticsearch}`);
}

/** Returns addresses where a service may report its state, best first. */
function serviceAddresses(words: readonly string[]): URL[] {
  const { values } = parseArgs({ args: [...words], options: { api: { type: "string" }, post: { type: "string" } } });
  const { LOGGIA_OPS, LOGGIA_API, LOGGIA_POST } = process.env;
  const api = values.api || LOGGIA_API?.trim() || defaultAddress("LOGGIA_API");
  const post = values.post || LOGGIA_POST?.trim() || defaultAddress("LOGGIA_POST");
  const ops = LOGGIA_OPS?.trim() ? [parseBase("LOGGIA_OPS", LOGGIA_OPS.trim())] : [];
  return [...ops, parseBase("LOGGIA_API", api), parseBase("LOGGIA_POST", post)];
}

/** Runs a program. Forwards signals to it and returns its exit code; the engines keep running. */
async function run(settings: EngineSettings, [program, ...args]: readonly string[]): Promise<number> {
  if (!program) {
    console.error(USAGE);
    return 2;
  }
  const { kafka, elasticsearch } = await up(settings, say);
  const env = { ...process.env, KAFKA_BROKERS: kafka!.brokers.join(","), ELASTICSEARCH_URL: elasticsearch!.url };
  const child = spawn(program, args, { stdio: "inherit", env });
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  // Ctrl-C reaches the program directly, in the same group. A second signal would skip draining.
  process.on("SIGINT", () => {});
  const [code] = (await once(child, "exit").catch((error: Error) => {
    throw new StartError(`Cannot run ${program}: ${error.message}`, { cause: error });
  })) as [number | null];
  return code ?? 1;
}

try {
  process.exitCode = await command(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError) && !(error instanceof CommandError)) throw error;
  console.error(printableLines(error.message));
  process.exitCode = 1;
}
