import { LoggiaError } from "../../errors.ts";
import type { LogKey } from "../../events/event.ts";
import type { Peer } from "../../auth/requests/guesses.ts";
import type { RouteSettings } from "../../settings/listeners.ts";
import { authorizeByKey } from "../../auth/requests/posting-key.ts";
import type { ProducerEvent } from "../kit/endpoint.ts";
import { Intake } from "./intake.ts";
import type { ListenerContext } from "./listener.ts";
import type { ListenerTally } from "./tally.ts";

/** Maximum number of logs that one connection may post to with API keys. */
const MAX_LOGS = 100;

/** Destination of the events of one connection, or of one sender of datagrams. */
export class Sink {
  readonly #context: ListenerContext;
  readonly #tally: ListenerTally;
  readonly #route: RouteSettings;
  readonly #peer: Peer;
  readonly #intakes = new Map<LogKey, Intake>();
  /** Logs of API keys, cached until the next {@link flush}. */
  readonly #logs = new Map<string, LogKey | null>();
  /** Whether events are dropped if there is no room. */
  readonly #drops: boolean;

  constructor(
    context: ListenerContext,
    tally: ListenerTally,
    route: RouteSettings,
    peer: Peer,
    { drops = false }: { drops?: boolean } = {},
  ) {
    this.#context = context;
    this.#tally = tally;
    this.#route = route;
    this.#peer = peer;
    this.#drops = drops;
  }

  /**
   * Queues an event. Returns a promise only if its log has to be looked up.
   * @param secret the API key of the event, if any
   */
  put(event: ProducerEvent, secret: string | null): void | Promise<void> {
    if (this.#route.log !== null) return this.#add(this.#route.log, event);
    if (secret === null) return this.#tally.add("refused");
    const log = this.#logs.get(secret);
    if (log !== undefined) return log === null ? this.#tally.add("refused") : this.#add(log, event);
    return this.#putByKey(event, secret);
  }

  /** Starts to store the queued events. */
  flush(): void {
    this.#logs.clear();
    for (const intake of this.#intakes.values()) intake.flush();
  }

  /** Resolves once there is room for more events. */
  async untilRoom(): Promise<void> {
    for (const intake of this.#intakes.values()) if (!intake.hasRoom()) await intake.untilRoom();
  }

  /** Resolves once all queued events are stored. */
  async drain(): Promise<void> {
    await Promise.all(Array.from(this.#intakes.values(), (intake) => intake.drain()));
    this.#intakes.clear();
  }

  async #putByKey(event: ProducerEvent, secret: string): Promise<void> {
    const log = await this.#logOf(secret);
    this.#logs.set(secret, log);
    if (log === null) this.#tally.add("refused");
    else this.#add(log, event);
  }

  async #logOf(secret: string): Promise<LogKey | null> {
    try {
      return (await authorizeByKey(secret, null, this.#peer, this.#context)).log;
    } catch (error) {
      if (error instanceof LoggiaError) return null;
      throw error;
    }
  }

  #add(log: LogKey, event: ProducerEvent): void {
    let intake = this.#intakes.get(log);
    if (intake === undefined) {
      if (this.#intakes.size >= MAX_LOGS) return this.#tally.add("refused");
      this.#intakes.set(log, (intake = new Intake(this.#context, this.#tally, log, this.#route.tags)));
    }
    if (this.#drops && !intake.hasRoom()) this.#tally.add("dropped");
    else intake.add(event);
  }
}
