import { pino } from "pino";
import { openSqliteBus } from "../../../src/bus/sqlite/sqlite.ts";

/**
 * Process of its own for the tests of the embedded bus: appends "0", "1", "2", … to the given file,
 * 16 at a time, and prints each number once its append has resolved.
 */
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("name a file");
const bus = await openSqliteBus({ file, log: pino({ level: "silent" }) });
process.stdout.write("open\n");
let next = 0;
await Promise.all(
  Array.from({ length: 16 }, async () => {
    for (;;) {
      const number = next++;
      await bus.append("events", [{ key: "k", value: Buffer.from(`${number}`) }]);
      process.stdout.write(`${number}\n`);
    }
  }),
);
