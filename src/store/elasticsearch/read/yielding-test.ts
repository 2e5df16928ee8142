import { throwIfAborted } from "../../../elasticsearch/client.ts";
import { Yielder } from "../../../scheduling/yielding.ts";
import type { RecordTest } from "./verify.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/** Tests records one by one, and yields the thread in between. */
export class YieldingTest<Row> {
  readonly #test: RecordTest<Row>;
  readonly #yielder: Yielder;

  constructor(test: RecordTest<Row>, querying: WorkKind) {
    this.#test = test;
    this.#yielder = new Yielder(querying, throwIfAborted);
  }

  /**
   * Returns whether a record meets the condition.
   * @throws LoggiaError `overloaded` after the query's timeout; the signal's reason if the client
   * has disconnected
   */
  holds(row: Row): boolean | Promise<boolean> {
    const steps = this.#test.prepare(row);
    return steps !== null || this.#yielder.isDue ? this.#testYielding(row, steps) : this.#test.holds(row);
  }

  async #testYielding(row: Row, steps: ReturnType<RecordTest<Row>["prepare"]>): Promise<boolean> {
    for (let isDone = steps === null; !isDone; isDone = steps!.next().done === true) {
      if (this.#yielder.isDue) await this.#yielder.turn();
    }
    if (this.#yielder.isDue) await this.#yielder.turn();
    return this.#test.holds(row);
  }
}
