import type { DuckDBConnection } from "@duckdb/node-api";

import type { LogKey } from "../../../events/event.ts";
import type { UsersPlan } from "../../../query/plan.ts";
import type { TrackedUser, UsersPage } from "../../store.ts";
import { compileUserCount, compileUsers } from "../compile/users.ts";
import { queryRows } from "../database/run-statement.ts";
import type { Row } from "../database/run-statement.ts";
import { transaction } from "../database/transaction.ts";
import type { WorkKind } from "../../../scheduling/yielding.ts";

/** Lists users. The count is a separate pass, which reads only what the condition needs. */
export async function users(connection: DuckDBConnection, plan: UsersPlan, querying: WorkKind): Promise<UsersPage> {
  return transaction(connection, async () => {
    const [[counted = 0] = []] = await queryRows(connection, compileUserCount(plan), querying);
    const total = Number(counted);
    if (total <= plan.skip) return { rows: [], total };
    return { rows: (await queryRows(connection, compileUsers(plan), querying)).map(toTrackedUser), total };
  });
}

function toTrackedUser([log, user, email, page, created, seen, count]: Row): TrackedUser {
  return {
    log: log as LogKey,
    user: user as string,
    email: email as string,
    page: page as string,
    created: Number(created),
    seen: Number(seen),
    count: Number(count),
  };
}
