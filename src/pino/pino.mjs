import build from "pino-abstract-transport";

import { Outbox } from "./outbox.mjs";

/**
 * A transport of pino: `pino({ transport: { target: "loggia/pino", options } })`. It runs in the
 * worker that pino starts for it, under the Node of the application, and so is plain JavaScript.
 *
 * @param {import("./pino.d.mts").LoggiaOptions} options
 */
// oxlint-disable-next-line import/no-default-export -- pino calls the default export
export default async function loggia(options) {
  const outbox = await Outbox.open(options);
  let isRead = Promise.resolve();
  const read = async (source) => {
    // A line is asked for once the one before has its place: pino waits, and not the memory of the worker grows.
    for await (const line of source) outbox.add(line);
  };
  return build(
    (source) => {
      isRead = read(source);
      return isRead;
    },
    {
      parse: "lines",
      // Lines are posted as pino wrote them.
      parseLine: () => LINE,
      metadata: false,
      close: async (fault) => {
        // What ended the reading is reported by the stream.
        await Promise.allSettled([isRead]);
        await outbox.close();
        if (fault) throw fault;
      },
    },
  );
}

const LINE = Object.freeze({});
