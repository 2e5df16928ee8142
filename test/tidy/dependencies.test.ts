import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "ava";

import { temporaryFolder } from "../support/temporary.ts";
import { checkDependencies } from "./dependencies.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

const PLANTED: readonly [file: string, importing: string, rule: string][] = [
  ["src/events/planted.ts", "../query/plan.ts", "events-know-nothing-else"],
  ["src/json/planted.ts", "../errors.ts", "json-stands-alone"],
  ["src/query/planted.ts", "../store/store.ts", "query-knows-events-only"],
  ["src/query/planted.ts", "node:fs", "query-does-no-io"],
  ["src/bus/kafka/planted.ts", "../sqlite/sqlite.ts", "bus-adapters-never-meet"],
  ["src/store/duckdb/planted.ts", "../elasticsearch/store.ts", "store-adapters-never-meet"],
  ["src/store/elasticsearch/documents/planted.ts", "../client/scan.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/client/planted.ts", "../compile/compile.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/compile/planted.ts", "../read/verify.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/read/planted.ts", "../write/columns.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/write/planted.ts", "../read/find.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/write/planted.ts", "../rebuild/copy.ts", "elasticsearch-store-in-layers"],
  ["src/store/elasticsearch/rebuild/planted.ts", "../read/list.ts", "elasticsearch-store-in-layers"],
  ["src/store/duckdb/database/planted.ts", "../blocks/tokens.ts", "duckdb-store-in-layers"],
  ["src/store/duckdb/blocks/planted.ts", "../memory/time-sums.ts", "duckdb-store-in-layers"],
  ["src/store/duckdb/memory/planted.ts", "../compile/binder.ts", "duckdb-store-in-layers"],
  ["src/store/duckdb/compile/planted.ts", "../read/read.ts", "duckdb-store-in-layers"],
  ["src/store/duckdb/read/planted.ts", "../write/seen.ts", "duckdb-store-in-layers"],
  ["src/store/duckdb/write/planted.ts", "../read/list.ts", "duckdb-store-in-layers"],
  ["src/api/planted.ts", "../bus/kafka/kafka.ts", "roles-see-ports-only"],
  ["pipelines/planted.ts", "../src/store/duckdb/store.ts", "roles-see-ports-only"],
  ["src/api/planted.ts", "../ingest/posting/validated-event.ts", "roles-never-meet"],
  ["src/auth/requests/planted.ts", "../../catalog/model.ts", "auth-is-below-catalog-and-roles"],
  ["src/auth/requests/planted.ts", "../../api/api.ts", "auth-is-below-catalog-and-roles"],
  ["src/auth/sessions/planted.ts", "../requests/guesses.ts", "stored-credentials-know-no-requests"],
  ["src/auth/planted.ts", "../http/body.ts", "stored-credentials-know-no-requests"],
  ["src/http/planted.ts", "../auth/requests/session-cookie.ts", "http-and-limits-know-no-credentials"],
  ["src/ratelimit/planted.ts", "../auth/requests/guesses.ts", "http-and-limits-know-no-credentials"],
  ["src/catalog/planted.ts", "../auth/requests/origin-check.ts", "catalog-stands-alone"],
  ["src/api/manage/planted.ts", "../../auth/permissions.ts", "endpoints-declare-their-access"],
  ["src/ingest/posting/planted.ts", "../../api/api.ts", "roles-never-meet"],
  ["src/ingest/planted.ts", "../api/api.ts", "roles-never-meet"],
  ["src/ingest/protocols/lines/planted.ts", "../../../bus/kafka/kafka.ts", "roles-see-ports-only"],
  ["src/ingest/protocols/planted/planted.ts", "../lines/decode.ts", "protocols-never-meet"],
  ["src/ingest/protocols/planted/planted.ts", "../../idempotency/idempotency.ts", "protocols-know-the-kit-only"],
  ["src/ingest/kit/planted.ts", "../append/record-lines.ts", "ingest-points-down"],
  ["src/ingest/idempotency/planted.ts", "../append/record-lines.ts", "ingest-points-down"],
  ["src/ingest/append/planted.ts", "../listeners/frames.ts", "ingest-points-down"],
  ["src/ingest/listeners/planted.ts", "../protocols/match.ts", "ingest-points-down"],
  ["src/ingest/protocols/planted/planted.ts", "../../posting/answers.ts", "ingest-points-down"],
  ["src/ingest/pages/planted.ts", "../protocols/match.ts", "ingest-points-down"],
  ["src/http/planted.ts", "./fast-path/request-head.ts", "fast-path-is-chosen-in-one-file"],
  ["src/ingest/posting/planted.ts", "../../http/fast-path/fast-path.ts", "fast-path-is-chosen-in-one-file"],
  ["src/http/limits/planted.ts", "../listen.ts", "http-limits-are-below-listen"],
  ["src/cli/ship/planted.ts", "../post-batch.ts", "ship-is-below-its-command"],
  ["src/http/planted.ts", "../main.ts", "only-main-composes"],
  ["pipelines/notify/planted.ts", "./channels/mail.ts", "channels-are-chosen-in-their-list"],
  ["src/planted.ts", "../pipelines/notify/notifier.ts", "only-main-composes"],
  ["src/settings/planted.ts", "../ingest/posting/validated-event.ts", "settings-know-values-only"],
  ["src/monitoring/planted.ts", "../operations/operations.ts", "monitoring-is-below-operations"],
  ["src/web/planted.ts", "../api/api.ts", "page-knows-query-and-events-only"],
  ["src/web/parts/list/planted.tsx", "../../../http/headers.ts", "page-knows-query-and-events-only"],
  ["src/web/planted.ts", "node:fs", "page-runs-in-a-browser"],
  ["src/web/parts/list/planted.ts", "../../state/app.ts", "page-parts-know-parts-only"],
  ["src/web/state/planted.ts", "../features/list/event-list.tsx", "page-state-knows-parts-only"],
  ["src/web/features/list/planted.ts", "../../shell/page.tsx", "page-features-know-state-and-parts-only"],
  ["src/web/features/list/planted.ts", "../live/live-view.tsx", "page-features-never-meet"],
  ["src/web/features/planted.ts", "./live/live-view.tsx", "page-features-never-meet"],
  ["src/web/screens/search/planted.ts", "../../shell/page.tsx", "page-screens-know-features-and-below-only"],
  ["src/web/screens/search/planted.ts", "../inbox/inbox-screen.tsx", "page-screens-never-meet"],
  ["src/web/shell/planted.ts", "../main.tsx", "page-shell-is-on-top"],
  ["src/api/planted.ts", "../web/state/app.ts", "nothing-knows-the-page"],
];

/** An import that closes a cycle between two folders. */
const CYCLE = ["src/web/parts/time/planted.ts", "../query/range.ts"] as const;

test("the rules find every planted violation, and nothing else", async (t) => {
  const folder = temporaryFolder(t);
  for (const part of ["src", "pipelines", "package.json"])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  for (const [index, [file, importing]] of [...PLANTED, CYCLE].entries()) {
    const path = join(folder, file.replace("planted", `planted${index}`));
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, `import * as planted from ${JSON.stringify(importing)};\nexport const used = planted;\n`);
  }
  const { violations, cycles, modules } = await checkDependencies(folder);
  t.true(modules > 40, `${modules} modules`);
  for (const [index, [file, , rule]] of PLANTED.entries()) {
    const from = file.replace("planted", `planted${index}`);
    t.true(
      violations.some((violation) => violation.startsWith(`${rule}: ${from} →`)),
      `${rule} found ${from}, among:\n${violations.join("\n")}`,
    );
  }
  const planted = `planted${PLANTED.length}.ts`;
  t.true(
    cycles.some((line) => line.startsWith("src/web/parts: ") && line.includes(planted)),
    cycles.join("\n"),
  );
  t.deepEqual(
    violations.filter((violation) => !violation.includes("planted") && !violation.startsWith("no-unresolved")),
    [],
  );
});
