import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/**
 * The addresses (`host:port`) of the run's Kafka brokers.
 * @throws Error with instructions if no engine is running
 */
export function kafkaBrokers(): string[] {
  const given = process.env["TEST_KAFKA_BROKERS"];
  const brokers = given ? given.split(",") : readState()?.kafka?.brokers;
  if (!brokers || brokers.length === 0) throw notRunning("Kafka");
  return brokers;
}

/**
 * The base address (`http://host:port`) of the run's Elasticsearch.
 * @throws Error with instructions if no engine is running
 */
export function elasticsearchUrl(): string {
  const url = process.env["TEST_ELASTICSEARCH_URL"] || readState()?.elasticsearch?.url;
  if (!url) throw notRunning("Elasticsearch");
  return url;
}

type State = { kafka?: { brokers?: string[] }; elasticsearch?: { url?: string } };

/** Reads the state file that `make up` writes; null if it does not exist. */
function readState(): State | null {
  const folder = process.env["ENGINES_DIR"] || resolve(import.meta.dirname, "../../.engines");
  try {
    return JSON.parse(readFileSync(resolve(folder, "state.json"), "utf8")) as State;
  } catch {
    return null;
  }
}

function notRunning(engine: string): Error {
  return new Error(
    `This test needs ${engine} and none is running. Run it through \`make test\`, or start the engines once with \`make up\`; ` +
      "`TEST_ENGINES=embedded` leaves such tests out.",
  );
}
