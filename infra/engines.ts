import { StartError } from "../src/errors.ts";
import { readSettings } from "./engines/settings.ts";
import { down, health, up } from "./engines/up.ts";

const USAGE = "Usage: node infra/engines.ts up | down | status";

const say = (line: string): void => console.log(line);

/** Returns the exit code: 0 done, 1 not so, 2 not understood. */
async function command(name: string | undefined): Promise<number> {
  const settings = readSettings();
  switch (name) {
    case "up": {
      const state = await up(settings, say);
      say(`Kafka          ${state.kafka?.brokers.join(",")}`);
      say(`Elasticsearch  ${state.elasticsearch?.url}`);
      return 0;
    }
    case "down":
      await down(settings);
      say(`Kafka and Elasticsearch are stopped; their data stay in ${settings.folder}.`);
      return 0;
    case "status": {
      const told = await health(settings.folder);
      say(`Kafka          ${told.kafka}`);
      say(`Elasticsearch  ${told.elasticsearch}`);
      return 0;
    }
    default:
      console.error(USAGE);
      return 2;
  }
}

try {
  process.exitCode = await command(process.argv[2]);
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
