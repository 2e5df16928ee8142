import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import test from "ava";

import { askForNotices } from "../pipelines/notify/ask-for-notices.ts";
import { ADMIN, LOG, postOnce } from "../support/service.ts";
import { startSmtpServer } from "../support/smtp.ts";
import { until } from "../support/until.ts";
import { codeOfGuide, ServiceCopy } from "./guides.ts";

test("a channel that is added by the guide sends each notice, as mail does", async (t) => {
  const copy = new ServiceCopy(t);
  const files = codeOfGuide("Add a channel of notification");
  t.is(files.size, 1);
  for (const [path, code] of files) copy.create(path, code);
  const list = "pipelines/notify/channels/list.ts";
  copy.change(list, /(CHANNELS: [^=]+= \[)/, "$1WEBHOOK, ");
  copy.change(list, /^/, 'import { WEBHOOK } from "./webhook.ts";\n');
  await copy.checkTypes();

  const posted: string[] = [];
  const webhook = createServer((request, response) => {
    // The first attempt fails, which delays no mail.
    void text(request).then((body) => response.writeHead(posted.push(body) === 1 ? 503 : 204).end());
  });
  webhook.listen(0, "127.0.0.1");
  t.teardown(() => webhook.close());
  await once(webhook, "listening");
  const server = await startSmtpServer(t);
  const service = await copy.start(t, {
    LOGGIA_WEBHOOK: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`,
    LOGGIA_SMTP: `smtp://127.0.0.1:${server.port}`,
    LOGGIA_MAIL_FROM: "loggia@example.net",
  });
  await askForNotices(service);
  await postOnce(service, { text: "Disk full", tags: ["error"] });

  await until(() => server.mails.length === 1 && posted.length === 2, { what: "the mail and the message" });
  t.like(JSON.parse(posted[1]!), { to: ADMIN.email, subject: `[${LOG}] failure: Disk full` });
  t.regex(posted[1]!, /You receive this message because/);
  const metrics = async (): Promise<string> => (await fetch(`${service.apiUrl}/metrics`)).text();
  for (const line of ["webhook_notices_total 1", "mail_notices_total 1"])
    t.true((await metrics()).includes(`\nloggia_${line}\n`), line);
  for (const line of ['webhooks_total{outcome="sent"} 1', 'mails_total{outcome="sent"} 1'])
    await until(async () => (await metrics()).includes(`\nloggia_${line}\n`), { what: line });
  t.true((await metrics()).includes('loggia_webhooks_total{outcome="unavailable"} 1\n'));
});
