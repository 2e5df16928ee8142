import { ALERT_ROUTES } from "./alerts.ts";
import { BOOKMARK_ROUTES } from "./bookmarks.ts";
import { CLASS_FILTER_ROUTES } from "./class-filters.ts";
import type { ApiEndpoint } from "./define-route.ts";
import { EVENT_CONTEXT_ROUTE } from "./event-context.ts";
import { EVENT_ROUTES } from "./events.ts";
import { EXPORT_ROUTE } from "./export/export.ts";
import { FIELDS_ROUTE } from "./fields.ts";
import { LOG_ROUTES } from "./logs.ts";
import { ACCOUNT_ROUTES } from "./manage/accounts.ts";
import { API_KEY_ROUTES } from "./manage/api-keys.ts";
import { MANAGED_CLASS_FILTER_ROUTES } from "./manage/class-filters.ts";
import { CLASS_OPTION_ROUTES } from "./manage/class-options.ts";
import { CLASS_PREVIEW_ROUTE } from "./manage/class-preview.ts";
import { DEAD_LETTER_ROUTES } from "./manage/dead-letters.ts";
import { HOOK_ROUTES } from "./manage/hooks.ts";
import { MANAGED_LOG_ROUTES } from "./manage/logs.ts";
import { OPERATION_ROUTES } from "./manage/operations.ts";
import { POSTING_ADDRESS_ROUTE } from "./manage/posting.ts";
import { RECLASSIFY_ROUTES } from "./manage/reclassify.ts";
import { SAVED_QUERY_ROUTES } from "./manage/saved-queries.ts";
import { SHARE_ROUTES } from "./manage/shares.ts";
import { openApiRoute } from "./openapi/routes.ts";
import { QUERY_ROUTE } from "./query.ts";
import { SESSION_ROUTES } from "./sessions.ts";
import { TAIL_ROUTE } from "./tail.ts";

const DESCRIBED: readonly ApiEndpoint[] = [
  ...LOG_ROUTES,
  ...EVENT_ROUTES,
  EVENT_CONTEXT_ROUTE,
  EXPORT_ROUTE,
  TAIL_ROUTE,
  ...BOOKMARK_ROUTES,
  ...ALERT_ROUTES,
  ...CLASS_FILTER_ROUTES,
  QUERY_ROUTE,
  FIELDS_ROUTE,
  ...SESSION_ROUTES,
  ...ACCOUNT_ROUTES,
  POSTING_ADDRESS_ROUTE,
  ...MANAGED_LOG_ROUTES,
  ...SHARE_ROUTES,
  ...API_KEY_ROUTES,
  ...MANAGED_CLASS_FILTER_ROUTES,
  CLASS_PREVIEW_ROUTE,
  ...CLASS_OPTION_ROUTES,
  ...RECLASSIFY_ROUTES,
  ...SAVED_QUERY_ROUTES,
  ...HOOK_ROUTES,
  ...DEAD_LETTER_ROUTES,
  ...OPERATION_ROUTES,
];

/** Returns all endpoints of the API listener, in the order of the OpenAPI document. */
export function apiEndpoints(): readonly ApiEndpoint[] {
  return [...DESCRIBED, openApiRoute(DESCRIBED)];
}
