import { findClassFilter } from "../class-filters.ts";
import { ok } from "../replies.ts";
import { OptionsList, OptionsRecord } from "../schemas/answers.ts";
import { Options } from "../schemas/inputs.ts";
import { classKeyParameter } from "./class-filters.ts";
import { managed } from "./managed.ts";

/** Routes of the caller's own options for classes. */
export const CLASS_OPTION_ROUTES = [
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/classOptions",
    who: "log member",
    id: "listClassOptions",
    summary: "List the caller's own options for the classes of a log; only classes with an option that is on",
    answers: { 200: { what: "The options, by class", schema: OptionsList } },
    handle({ catalog }, { access: { account, log } }) {
      const chosen = catalog.classFilters(log.key).flatMap(({ key }) => {
        const { alert, notify, hide } = catalog.classOptions(account.id, log.key, key);
        return alert || notify || hide ? [{ key, alert, notify, hide }] : [];
      });
      return ok(chosen);
    },
  }),
  managed({
    method: "GET",
    path: "/manage/1/logs/:log/classFilters/:key/options",
    who: "log member",
    id: "readClassOptions",
    summary: "Read the caller's own options for a class",
    answers: { 200: { what: "The options", schema: OptionsRecord } },
    errors: ["class_filter_not_found"],
    handle({ catalog }, call) {
      const { account, log } = call.access;
      const { key } = findClassFilter(catalog, log.key, classKeyParameter(call));
      const { alert, notify, hide } = catalog.classOptions(account.id, log.key, key);
      return ok({ alert, notify, hide });
    },
  }),
  managed({
    method: "PUT",
    path: "/manage/1/logs/:log/classFilters/:key/options",
    who: "log member",
    id: "setClassOptions",
    summary: "Set the caller's own options for a class: alerts, mail and hiding",
    json: Options,
    answers: { 200: { what: "The options", schema: OptionsRecord } },
    errors: ["class_filter_not_found"],
    async handle({ catalog }, call) {
      const { account, log } = call.access;
      const { key } = findClassFilter(catalog, log.key, classKeyParameter(call));
      const { alert, notify, hide } = await catalog.setClassOptions(account.id, log.key, key, await call.input());
      return ok({ alert, notify, hide });
    },
  }),
];
