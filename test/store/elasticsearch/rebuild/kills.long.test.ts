import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import { killAfterExit } from "../../../../infra/engines/guard.ts";
import { event, newLog, newUser } from "../../../contract/store-fixture.ts";
import { writeAlerts } from "../../../support/write-events.ts";
import { onCluster, open, run, all, writeUntilAccepted, retryUntilAccepted } from "./store.ts";

const KILLS: readonly (readonly [request: string, when: "before" | "after", what?: string])[] = [
  ["indices.create", "after", "-rebuild"],
  ["indices.create", "after", ".g1"],
  ["indices.stats", "before"],
  ["bulk", "after"],
  ["indices.addBlock", "before"],
  ["indices.addBlock", "after"],
  ["indices.updateAliases", "before"],
  ["indices.updateAliases", "after"],
];
for (const [request, when, what = ""] of KILLS) {
  onCluster(`killed ${when} ${request} ${what}: the service goes on, and a second rebuild succeeds`, async (t) => {
    const { namespace, store, indices } = await open(t);
    const [log, user] = [newLog(), newUser()];
    const events = Array.from({ length: 20 }, () => event(log));
    await writeUntilAccepted(store, events);
    await writeAlerts(store, [{ user, event: events[0]! }]);
    t.true(await store.deleteEvent(log, events[1]!.id));
    const script = join(import.meta.dirname, "./process.ts");
    const child = spawn(process.execPath, [script, namespace, request, when, what], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    killAfterExit(child);
    t.teardown(() => child.kill("SIGKILL"));
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    t.is((await all(store, log)).length, 19);
    await writeUntilAccepted(store, [event(log)]);
    await retryUntilAccepted(() => store.deleteEvent(log, events[2]!.id));
    t.is((await all(store, log)).length, 19);
    await run(store);
    t.is((await all(store, log)).length, 19);
    const names = await indices();
    t.is(names.length, 2, names.join());
    t.true(
      names.every((name) => /^(events|alerts)\.g\d+-2024\.05$/.test(name)),
      names.join(),
    );
    await writeUntilAccepted(store, events);
    t.is((await all(store, log)).length, 19);
  });
}
