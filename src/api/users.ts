import { LoggiaError } from "../errors.ts";
import type { Reply } from "../http/route.ts";
import type { UsersPlan } from "../query/plan.ts";

/**
 * Answers a question about tracked users, whether it was asked in LQL or by the management call.
 * The store cannot be asked for them yet: until its port has such a call, this is the one place that says so.
 */
export function runUsers(plan: UsersPlan): Promise<Reply> {
  const error = new LoggiaError("unsupported", `Tracked users of ${plan.logs.join(", ")} cannot be listed`);
  return Promise.reject(error);
}
