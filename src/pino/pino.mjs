import build from "pino-abstract-transport";

import { Outbox } from "./outbox.mjs";

/**
 * Transport for pino: `pino({ transport: { target: "loggia/pino", options } })`. It runs in the
 * worker that pino starts for it, under the application's Node, so it is plain JavaScript.
 *
 * @param {import("./pino.d.mts").LoggiaOptions} options
 */
// oxlint-disable-next-line import/no-default-export -- pino calls the default export
export default async function loggia(options) {
  const outbox = await Outbox.open(options);
  let reading = Promise.resolve();
  const read = async (source) => {
    // Each line is queued before the next is read, so pino waits and memory does not grow.
    for await (const line of source) outbox.add(line);
  };
  return build(
    (source) => {
      reading = read(source);
      return reading;
    },
    {
      parse: "lines",
      // Lines are posted as pino wrote them.
      parseLine: () => LINE,
      metadata: false,
      close: async (fault) => {
        // The stream reports the error that ended the reading.
        await Promise.allSettled([reading]);
        await outbox.close();
        if (fault) throw fault;
      },
    },
  );
}

const LINE = Object.freeze({});
