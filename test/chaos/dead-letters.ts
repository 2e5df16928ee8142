import type { Bus, BusRecord, Topic } from "../../src/bus/bus.ts";
import { type DeadLetter, decodeLetter } from "../../pipelines/deadletters/codec.ts";
import { uniqueName } from "../support/temporary.ts";
import { until } from "../support/until.ts";
import type { Scene } from "./scene.ts";

/** Returns every record of a topic, read from the start by a group of its own. */
export async function recordsOf(bus: Bus, topic: Topic): Promise<BusRecord[]> {
  const group = uniqueName("look");
  const records: BusRecord[] = [];
  const subscription = await bus.subscribe({ topic, group, maxRecords: 1000, maxBytes: 4_000_000 }, async (batch) => {
    records.push(...batch.records);
    await batch.ack();
  });
  try {
    await until(async () => (await bus.lag(topic, group)).every(({ end, next }) => end === next), {
      what: `the end of ${topic}`,
    });
    return records;
  } finally {
    await subscription.close();
  }
}

/**
 * Returns the dead letters of a cluster.
 * @throws Error if anything else is on their topic
 */
export async function deadLetters(scene: Scene): Promise<DeadLetter[]> {
  return lettersOf(await scene.bus());
}

export async function lettersOf(bus: Bus): Promise<DeadLetter[]> {
  const records = await recordsOf(bus, "dead-letters");
  return records.map(({ value }) => {
    const letter = decodeLetter(value);
    if (letter === null) throw new Error(`not a dead letter: ${value.toString("utf8").slice(0, 200)}`);
    return letter;
  });
}
