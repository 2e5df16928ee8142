import type { Reply } from "../http/route.ts";
import type { UsersPlan } from "../query/plan.ts";
import type { ApiCall, Context } from "./context.ts";
import { USER_BYTES } from "./response-sizes.ts";
import { readTotal } from "./total.ts";
import { showUsers } from "./view.ts";

/** Runs a query for tracked users, from LQL or from the management API. */
export async function runUsers(
  { store }: Context,
  { memory, query }: ApiCall,
  plan: UsersPlan,
): Promise<{ reply: Reply; total: number }> {
  const { headers } = readTotal(query, plan);
  await memory.take(plan.take * USER_BYTES);
  const { rows, total } = await store.users(plan);
  const body = showUsers(rows, plan.columns);
  return { reply: { status: 200, body, headers: headers(total) }, total };
}
