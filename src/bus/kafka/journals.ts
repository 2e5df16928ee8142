import { LoggiaError } from "../../errors.ts";
import { JournalCut, type Journal, type JournalReadOptions } from "../bus.ts";
import { APPEND_DEADLINE_MS } from "../limits.ts";
import { kafkaReason, type KafkaConnection } from "./client.ts";
import { isOutOfRange, KafkaFetcher } from "./fetcher.ts";
import { KafkaProducer } from "./producer.ts";
import type { KafkaTopics } from "./topics.ts";

/**
 * The journals of a bus. They have a producer of their own, so that their small records do not wait
 * for large requests with events.
 */
export class KafkaJournals implements AsyncDisposable {
  readonly #producer: KafkaProducer;
  #connecting: Promise<void> | null = null;
  /** Fetches that wait for records. */
  readonly #following: KafkaFetcher;
  readonly #asking: KafkaFetcher;

  constructor(connection: KafkaConnection, topics: KafkaTopics) {
    // All records go to the first partition, whatever an operator has created.
    const single = [...topics.values()].map(({ name }) => [name, { name, partitions: 1 }] as const);
    this.#producer = new KafkaProducer(connection, new Map(single));
    this.#following = new KafkaFetcher(connection);
    this.#asking = new KafkaFetcher(connection);
  }

  /** @param offsets reads offsets of the topic */
  open(topic: string, { bounds, offsetAt }: Pick<Journal, "bounds" | "offsetAt">): Journal {
    const fetch = (options: JournalReadOptions) =>
      ((options.wait_ms ?? 0) > 0 ? this.#following : this.#asking).fetch(topic, options);
    return {
      bounds,
      offsetAt,
      append: async (values, { deadline_ms = APPEND_DEADLINE_MS } = {}) => {
        await this.#connect();
        const records = values.map((value) => ({ key: "", value }));
        await this.#producer.append(topic, records, deadline_ms);
      },
      async read(options) {
        try {
          return await fetch(options);
        } catch (error) {
          if (!isOutOfRange(error)) throw error;
          const { first, end } = await bounds();
          if (options.from > end) throw new JournalCut(`${topic} ends at ${end}, before ${options.from}`);
          return options.from < first ? await fetch({ ...options, from: first }) : [];
        }
      },
    };
  }

  async #connect(): Promise<void> {
    this.#connecting ??= this.#producer.connect();
    try {
      await this.#connecting;
    } catch (error) {
      this.#connecting = null;
      throw new LoggiaError("bus_unavailable", `Kafka could not be reached: ${kafkaReason(error)}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      this.#producer.close(APPEND_DEADLINE_MS),
      this.#following[Symbol.asyncDispose](),
      this.#asking[Symbol.asyncDispose](),
    ]);
  }
}
