import { ok } from "../replies.ts";
import { PostingAddressRecord } from "../schemas/answers.ts";
import { managed } from "./managed.ts";

/** The address for producers, for users to copy into programs. */
export const POSTING_ADDRESS_ROUTE = managed({
  method: "GET",
  path: "/manage/1/posting",
  who: "account",
  id: "readPostingAddress",
  summary:
    "Read the address for producers: `url`, or if it is null, `port` on the host that serves this API; " +
    "and whether mail is sent",
  answers: { 200: { what: "The address", schema: PostingAddressRecord } },
  handle: (context) => ok(context.posting()),
});
