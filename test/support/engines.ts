import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/**
 * False when this run has only the embedded engines (`TEST_ENGINES=embedded`): then tests that need
 * Kafka or Elasticsearch are declared with `test.skip`, and the runner says so at its start and its
 * end.
 */
export const realEngines = process.env["TEST_ENGINES"] !== "embedded";

/**
 * The addresses (`host:port`) of the Kafka of this run.
 * @throws Error with what to do, where no engine runs
 */
export function kafkaBrokers(): string[] {
  const given = process.env["TEST_KAFKA_BROKERS"];
  const brokers = given ? given.split(",") : readState()?.kafka?.brokers;
  if (!brokers || brokers.length === 0) throw notRunning("Kafka");
  return brokers;
}

/**
 * The base address (`http://host:port`) of the Elasticsearch of this run.
 * @throws Error with what to do, where no engine runs
 */
export function elasticsearchUrl(): string {
  const url = process.env["TEST_ELASTICSEARCH_URL"] || readState()?.elasticsearch?.url;
  if (!url) throw notRunning("Elasticsearch");
  return url;
}

type State = { kafka?: { brokers?: string[] }; elasticsearch?: { url?: string } };

/** What `make up` wrote down, or null where it has not run. */
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
